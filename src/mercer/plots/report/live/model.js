'use strict';
// Predictions of the machines that export.py has written. A row is a list of cells, one for each
// field of the form: a number, a level as text, the seconds of a date, or null. Nothing is drawn here.
const {abs, cos, exp, floor, log, max, min, round, sin, sqrt, PI} = Math;
const Live = (() => {
const numbers = a => {
  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer;
  return a.f8 === undefined ? new Float32Array(bytes(a.f4)) : new Float64Array(bytes(a.f8));
};
const zeros = size => new Float64Array(size);
const clip = (x, low, high) => min(max(x, low), high);
const softmax = s => {
  const top = max(...s), e = s.map(v => exp(max(v - top, -700))), all = e.reduce((a, b) => a + b);
  return e.map(v => v / all);
};

// ---- texts -------------------------------------------------------------------------------------
let texts, places, rarities; // the symbols of texts, whose places are inputs; weights of substrings
const characters = text => text ? [...` ${text} `] : [];
const words = text => text.toLowerCase().match(/[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s\x1c-\x1f\x85]/gu) || [];
function placed(symbols) {
  const key = symbols.join('\0');
  if (!places.has(key)) places.set(key, texts.push(symbols) - 1);
  return places.get(key);
}
function substrings(k, text) { // and their weights, whose squares sum to 1
  const symbols = texts[text], gap = symbols[0] === ' ' ? '' : ' ', rare = rarities[k.rarity], found = new Map();
  for (let size = k.shortest; size <= k.longest; size++) for (let i = 0; i + size <= symbols.length; i++) {
    const u = symbols.slice(i, i + size).join(gap);
    found.set(u, (found.get(u) || 0) + 1);
  }
  let squares = 0;
  found.forEach((n, u) => {
    const w = (k.sublinear ? 1 + log(n) : n) * (rare ? (rare.get(u) || [0])[0] : 1);
    squares += w * w;
    found.set(u, w);
  });
  found.forEach((w, u) => found.set(u, w / (sqrt(squares) || 1)));
  return found;
}

// ---- cells -> inputs ---------------------------------------------------------------------------
function interpolated(x, xs, ys) { // of equal xs the last one counts, as in numpy
  const last = xs.length - 1;
  if (x < xs[0]) return ys[0];
  if (x >= xs[last]) return ys[last];
  let low = 0, high = last;
  while (high - low > 1) { const middle = (low + high) >> 1; if (xs[middle] <= x) low = middle; else high = middle; }
  return (ys[low + 1] - ys[low]) / (xs[low + 1] - xs[low]) * (x - xs[low]) + ys[low];
}
const quarter = x => abs(x) < 1e-290 ? 0 : x / 4;
function rank(x, s) { // the share of training values below it; equal ones count half
  const below = interpolated(quarter(x), s.quantiles, s.grid);
  return s.ties ? (below + 1 - interpolated(-quarter(x), s.mirrored, s.grid)) / 2 : below;
}
// The quantile of the normal distribution for p from 0.001 to 0.999, by Newton's steps; its integral
// from 0 to x is the density times x + x^3 / 3 + x^5 / (3 5) + x^7 / (3 5 7) ...
function normal(p) {
  let x = 0;
  for (let step = 0; step < 12; step++) {
    const density = exp(-x * x / 2) / sqrt(2 * PI);
    let term = x, sum = x;
    for (let k = 3; abs(term) > 1e-17; k += 2) sum += term *= x * x / k;
    x -= (0.5 + density * sum - p) / density;
  }
  return x;
}
const date = s => new Date(s * 1e3), turn = h => 2 * PI * h / 24;
const PARTS = {
  '': v => v, none: () => 0, sine: h => sin(turn(h)), cosine: h => cos(turn(h)),
  'elapsed days': s => s / 86400, year: s => date(s).getUTCFullYear(), month: s => date(s).getUTCMonth() + 1,
  'day of month': s => date(s).getUTCDate(), 'day of week': s => (date(s).getUTCDay() + 6) % 7,
  hour: s => date(s).getUTCHours(), minute: s => date(s).getUTCMinutes(),
};
function load(model) {
  [texts, places] = [[], new Map()];
  rarities = model.rarities.map(all => {
    const rare = new Map();
    for (const [w, us] of all) for (const u of us) rare.set(u, [w, rare.size]);
    return rare;
  });
  for (const t of model.texts) placed(t.map ? t : characters(t));
  for (const s of model.series) {
    if (s.numbers) s.known = new Map(model.fields[s.field].levels.map((level, i) => [level, s.numbers[i] ?? NaN]));
    if (!s.quantiles) continue;
    const q = s.quantiles = numbers(s.quantiles).map(quarter);
    s.grid = q.map((_, i) => i / (q.length - 1));
    s.ties = q.some((v, i) => i && v === q[i - 1]);
    s.mirrored = q.map(v => -v).reverse();
  }
  for (const c of model.inputs) {
    if (c.levels) c.codes = new Map(c.levels.map((level, i) => [level, i]));
    if (c.effects) c.effects = numbers(c.effects);
  }
  const e = model.explained;
  if (e) {
    e.background = numbers(e.background);
    for (const p of e.parts || []) if (p?.coef) p.coef = numbers(p.coef);
  }
  for (const m of [...model.machines, ...(model.spread ? model.spread.steps : [])]) {
    for (const name of ['X', 'coef', 'weights']) if (m[name]) m[name] = numbers(m[name]);
    for (const n of m.networks || []) {
      for (const name of ['frequencies', 'Z']) n[name] = numbers(n[name]);
      for (const l of [n.periodic, ...n.layers]) [l.W, l.b] = [numbers(l.W), numbers(l.b)];
    }
    for (const s of [...(m.shapes || []), ...(m.surfaces || [])]) {
      s.values = numbers(s.values);
      if (s.edges) s.edges = numbers(s.edges);
    }
  }
  return model;
}
function encode(model, cells) { // in single precision, as the encoder has it
  const found = model.series.map(s => {
    const cell = cells[s.field];
    return s.known ? s.known.get(cell) ?? NaN : cell === null ? NaN : PARTS[s.part](cell);
  });
  return Float32Array.from(model.inputs, c => {
    if (c.text) return placed((c.text === 'words' ? words : characters)(cells[c.field]));
    if (c.codes) {
      const code = c.codes.get(cells[c.field]) ?? c.codes.size;
      return c.effects ? c.effects[code] ?? 0 : code;
    }
    const s = model.series[c.series], missing = isNaN(found[c.series]), x = missing ? s.median : found[c.series];
    if (c.kind === 'missing') return +missing;
    if (c.kind === 'level') { const at = c.values.indexOf(x); return at < 0 ? c.values.length : at; }
    if (c.kind === 'scaled') return clip((x - s.centre) / s.spread, -10, 10);
    return c.kind === 'rank' ? sqrt(12) * rank(x, s) : normal(clip(rank(x, s), 1e-3, 1 - 1e-3));
  });
}

// ---- kernels -----------------------------------------------------------------------------------
function leaf(k, x, X, row) { // of x and the row of X that begins at `row`
  const at = k.at;
  let sum = 0;
  if (k.of === 'share' || k.of === 'unequal') {
    for (const j of at) sum += x[j] !== X[row + j];
    return k.of === 'share' ? 1 - sum / at.length : exp(-k.rate * sum);
  }
  if (k.of === 'differences') {
    at.forEach((i, a) => {
      sum += abs(x[i] - X[row + i]);
      for (const j of at.slice(a + 1)) sum += abs(abs(x[i] - x[j]) - abs(X[row + i] - X[row + j]));
    });
    return exp(-k.rate * sum);
  }
  const add = t => { sum += k.p === 2 ? t * t : k.p === 1 ? abs(t) : abs(t) ** k.p; };
  if (k.map) for (const line of k.map) add(line.reduce((s, a, j) => s + a * (x[at[j]] - X[row + at[j]]), 0));
  else for (let j = 0; j < at.length; j++) add((k.scale ? k.scale[j] : 1) * (x[at[j]] - X[row + at[j]]));
  return exp(-k.rate * (k.power === 1 ? sum : sum ** k.power));
}
function column(k, x, m) { // of x and all rows; what reads the inputs of the call before is kept
  const {parts, combine} = k, found = zeros(m.rows);
  if (parts) {
    if (combine !== 'sum') found.fill(1);
    parts.forEach((part, j) => column(part, x, m).forEach((v, i) => {
      const w = k.weights[j];
      if (combine === 'sum') found[i] += w * v;
      else found[i] *= combine === 'product' ? v : (1 + w * v) / (1 + w);
    }));
    return found;
  }
  m.kept ??= new Map();
  const kept = m.kept.get(k) || {}, key = k.at.map(i => x[i]).join();
  m.kept.set(k, kept);
  if (kept.key === key) return kept.last;
  kept.key = key;
  if (k.of !== 'texts') return kept.last = found.map((_, i) => leaf(k, x, m.X, i * x.length));
  if (!kept.holders) { // of each substring the rows, and its weights there
    kept.holders = new Map();
    for (let i = 0; i < m.rows; i++) substrings(k, m.X[i * x.length + k.at[0]]).forEach((w, u) => {
      const all = kept.holders.get(u);
      if (all) all.push(i, w); else kept.holders.set(u, [i, w]);
    });
  }
  substrings(k, x[k.at[0]]).forEach((w, u) => {
    const all = kept.holders.get(u) || [];
    for (let a = 0; a < all.length; a += 2) found[all[a]] += w * all[a + 1];
  });
  return kept.last = found;
}

// ---- machines ----------------------------------------------------------------------------------
const taken = (x, at) => at ? Float64Array.from(at, j => x[j]) : x;
const add = (found, v, A, row) => { // v times a row of a matrix of as many columns
  for (let c = 0, o = found.length; c < o; c++) found[c] += v * A[row * o + c];
};
function expansion(m, x) { // offset + sum of coef k(x, row), for each output
  const found = m.offset.slice();
  column(m.kernel, x, m).forEach((k, i) => add(found, k, m.coef, i));
  return found;
}
function windowed(m, x) { // weights exp(-D^2 / (2 width^2)), D^2 = k(x, x) + k(z, z) - 2 k(x, z)
  const [own] = column(m.kernel, x, {X: x, rows: 1});
  return read(m, mean(m, column(m.kernel, x, m).map((k, i) => (k - own) / m.width ** 2 + log(m.weights ? m.weights[i] : 1))));
}
function mean(m, logs) { // of the targets, by the logarithms of weights
  const top = logs.reduce((a, b) => max(a, b)), found = m.offset.slice();
  let all = 0;
  logs.forEach((l, i) => {
    const w = exp(l - top);
    all += w;
    add(found, w, m.coef, i);
  });
  return found.map(f => f / all);
}
const read = (m, means) => m.logs ? means.map(f => log((1 + f) / 2 + 1e-3)) : means;
const dense = (x, l) => { // a linear layer, and what is above 0
  const found = l.b.slice();
  x.forEach((v, i) => v && add(found, v, l.W, i));
  return l.relu ? found.map(v => max(v, 0)) : found;
};
function neighbourhood(m, x) { // the mean of networks, each with weights exp(-tau |z - Z|)
  const found = m.offset.slice();
  for (const n of m.networks) {
    const values = [...n.numbers.map(j => x[j]), ...n.pairs.map(([i, j]) => Math.fround(abs(x[i] - x[j])))].map(v => clip(v, -8, 8));
    const features = values.flatMap((v, j) => {
      const turns = [...n.frequencies.subarray(16 * j, 16 * j + 16)].map(c => 2 * PI * c * v);
      return [...dense([...turns.map(cos), ...turns.map(sin), v], n.periodic)];
    });
    n.coded.forEach(([j, codes]) => features.push(...codes.map(code => 0.7 * (x[j] === code))));
    const z = n.layers.reduce(dense, features), d = z.length, logs = zeros(m.rows);
    for (let i = 0; i < m.rows; i++) {
      let sum = 0;
      for (let c = 0; c < d; c++) sum += (z[c] - n.Z[i * d + c]) ** 2;
      logs[i] = log(m.weights[i]) - n.temperature * sqrt(sum);
    }
    mean(m, logs).forEach((v, c) => { found[c] += v / m.networks.length; });
  }
  return read(m, found);
}
function shapes(m, x, classes) {
  const o = m.offset.length, found = m.offset.slice();
  const codes = m.shapes.map(s => {
    const v = x[s.at];
    if (s.levels) { const at = s.levels.indexOf(v); return at < 0 ? s.size - 1 : at; }
    let code = 0;
    while (s.edges[code] < v) code++;
    return code;
  });
  m.shapes.forEach((s, j) => add(found, 1, s.values, codes[j]));
  for (const s of m.surfaces) add(found, 1, s.values, s.groups[0][codes[s.at[0]]] * s.wide + s.groups[1][codes[s.at[1]]]);
  if (!classes) return found;
  const P = o > 1 ? softmax(found) : [1 / (1 + exp(found[0])), 1 / (1 + exp(-found[0]))];
  return classes.map((_, c) => log((P[m.met.indexOf(c)] ?? 0) + 1e-3));
}
function splines(v, knots) { // cubic B-splines, all but the last one
  if (!knots.length) return [v];
  const n = knots.length, first = knots[1] - knots[0], last = knots[n - 1] - knots[n - 2];
  const t = [3, 2, 1].map(i => knots[0] - first * i).concat(knots, [1, 2, 3].map(i => knots[n - 1] + last * i));
  const x = clip(v, knots[0], knots[n - 1]);
  let at = 3;
  while (at < n + 1 && x >= t[at + 1]) at++;
  let b = [1]; // those of the interval, of rising degree
  for (let k = 1; k <= 3; k++) {
    const next = new Array(k + 1).fill(0);
    for (let j = 0; j < k; j++) {
      const low = t[at - k + 1 + j], high = t[at + 1 + j], w = b[j] / (high - low);
      next[j] += w * (high - x);
      next[j + 1] += w * (x - low);
    }
    b = next;
  }
  const found = new Array(n + 2).fill(0);
  b.forEach((value, j) => { found[at - 3 + j] = value; });
  return found.slice(0, -1);
}
function linear(m, x) {
  const found = m.offset.slice();
  let row = 0;
  for (const p of m.parts) {
    if (p.of === 'texts') {
      substrings(p, x[p.at[0]]).forEach((w, u) => w && add(found, p.weight * w, m.coef, row + rarities[p.rarity].get(u)[1]));
      row += rarities[p.rarity].size;
      continue;
    }
    const values = p.of === 'splines' ? splines(x[p.at[0]], p.knots) : p.of === 'numbers' ? p.at.map(j => x[j])
      : Array.from({length: p.size}, (_, code) => +(x[p.at[0]] === code));
    for (const v of values) add(found, p.weight * v, m.coef, row++);
  }
  return found;
}
function likelihoods(m, v, classes) { // of the classes in their pairs
  const found = classes.map(() => 0), soft = t => max(t, 0) + Math.log1p(exp(-abs(t)));
  m.pairs.forEach(([a, b], i) => { found[a] -= soft(-3 * v[i]); found[b] -= soft(3 * v[i]); });
  const least = min(0, ...m.met.map(c => found[c])) - 1;
  return found.map((s, c) => m.met.includes(c) ? s : least);
}
function outputs(m, x, classes) {
  if (m.way === 'shapes') return shapes(m, x, classes);
  if (m.way === 'linear') return linear(m, x);
  const own = taken(x, m.at);
  if (m.way === 'networks') return neighbourhood(m, own);
  if (m.way === 'window') return windowed(m, own);
  return m.way === 'pairs' ? likelihoods(m, expansion(m, own), classes) : expansion(m, own);
}

// ---- predictions -------------------------------------------------------------------------------
const BACK = {
  '': z => z, 'square root': z => max(z, 0) ** 2, logarithm: (z, s) => max(exp(z) - s.shift, 0),
  logit: (z, s) => s.most * clip((1 / (1 + exp(-z)) - s.margin) / (1 - 2 * s.margin), 0, 1),
};
const FORWARD = {
  '': y => y, 'square root': sqrt, logarithm: (y, s) => log(y + s.shift),
  logit: (y, s) => { const p = s.margin + (1 - 2 * s.margin) * y / s.most; return log(p / (1 - p)); },
};
const within = (z, s) => clip(z, s.limits[0] ?? -Infinity, s.limits[1] ?? Infinity);
const back = (z, s) => BACK[s.name](within(z, s), s);
function interval(spread, x, value) {
  const s = spread.scale, f = within(FORWARD[s.name](value, s), s), z = (f - spread.centre) / spread.width;
  const log = spread.steps.reduce((sum, t) => sum + clip(expansion(t, t.at ? taken(x, t.at) : [z])[0] + t.mean, ...t.ends), 0);
  const group = spread.at.length ? spread.kept.indexOf(x[spread.at[0]]) + 1 : spread.edges.filter(e => e <= z).length;
  return spread.scores[group].map(q => back(f + exp(log) * q, s));
}
function votes(model, x) {
  const found = [];
  for (const m of model.machines)
    outputs(m, x, model.classes).forEach((s, c) => { found[c] = (found[c] ?? 0) + m.share * (m.slope * s + (m.bias[c] ?? m.bias[0])); });
  return model.classes ? found : [back(found[0], model.scale)];
}
function predict(model, cells) { // {probabilities, choice} or {value, interval}
  const x = encode(model, cells), found = votes(model, x);
  if (!model.classes) return {value: found[0], interval: model.spread && interval(model.spread, x, found[0])};
  const probabilities = softmax(found);
  const gains = model.gains[0].map((_, c) => probabilities.reduce((s, p, k) => s + p * model.gains[k][c], 0));
  return {probabilities, choice: gains.indexOf(max(...gains))};
}
// What fields add to f as they come in by turns, and in reverse, beside a row x. It is exact if at
// most two of them act together.
function turns(model, f, all, x, order) {
  const found = zeros(order.length), owners = model.inputs.map(c => c.field ?? model.series[c.series].field);
  for (const players of [order, [...order].reverse()]) {
    const y = x.slice();
    let last = f(y);
    for (const p of players) {
      owners.forEach((owner, j) => { if (owner === p) y[j] = all[j]; });
      const now = f(y);
      found[p] += (now - last) / 2;
      last = now;
    }
  }
  return found;
}
// Shapley values of a row by field, of one output of the model as mercer.explain has it, against
// background rows: a function of a time in ms, [values, error]. Machines without exact values are
// asked, and each call makes their values more exact.
function explanation(model, cells, output) {
  const e = model.explained, B = e.weights.length, all = encode(model, cells), order = [...model.fields.keys()];
  const row = b => e.background.subarray(b * all.length, (b + 1) * all.length);
  const one = o => o.length < 2 ? o[0] : o.length < 3 ? o[1] - o[0] : o[output] - o.reduce((a, b) => a + b) / o.length;
  const known = zeros(order.length), mean = zeros(order.length), squares = zeros(order.length);
  const asked = e.parts ? [] : [x => one(votes(model, x))];
  (e.parts || []).forEach((part, number) => {
    const m = model.machines[number], f = x => m.share * m.slope * one(outputs(m, x, model.classes));
    if (!part) asked.push(f);
    else if (part.coef) exact(e, part, m, taken(all, m.at), row, output, known);
    else for (let b = 0; b < B; b++) turns(model, f, all, row(b), order).forEach((v, p) => { known[p] += v * e.weights[b]; });
  });
  let n = 0;
  return ms => {
    const until = Date.now() + ms;
    while (asked.length && (n < 2 || Date.now() < until)) {
      const mixed = order.map(p => [Math.random(), p]).sort((a, b) => a[0] - b[0]).map(([, p]) => p);
      const b = n++ % B;
      turns(model, x => asked.reduce((sum, f) => sum + f(x), 0), all, row(b), mixed).forEach((v, p) => {
        v *= B * e.weights[b];
        squares[p] += (v - mean[p]) ** 2 * (n - 1) / n;
        mean[p] += (v - mean[p]) / n;
      });
    }
    return [known.map((v, p) => v + mean[p]), n && sqrt(max(...squares) / n / (n - 1))];
  };
}
// A stored row i and a background row b are a game, whose values are the integral over s in [0, 1] of
// (p - q) times the product of q + s (p - q) of all other players, where p and q are the factors
// k(x, i) and k(b, i): Gauss nodes are exact. Factors of the background are kept.
function exact(e, part, m, x, row, output, found) {
  const B = e.weights.length;
  for (const t of part.terms) {
    const d = t.players.length, nodes = e.nodes[d];
    const factors = y => t.players.map(([, all]) => all.map(k => column(k, y, m)).reduce((a, b) => a.map((v, i) => v * b[i])));
    if (!t.Q) {
      t.Q = zeros(m.rows * B * d);
      for (let b = 0; b < B; b++) factors(taken(row(b), m.at)).forEach((q, l) => q.forEach((v, i) => { t.Q[(i * B + b) * d + l] = v; }));
    }
    const {Q} = t, P = factors(x), p = zeros(d), u = zeros(d), before = zeros(d), sum = zeros(d);
    for (let i = 0; i < m.rows; i++) {
      const weight = t.weight * part.coef[i * e.outputs + output];
      if (!weight) continue;
      for (let l = 0; l < d; l++) p[l] = P[l][i];
      for (let b = 0; b < B; b++) {
        const at = (i * B + b) * d;
        sum.fill(0);
        for (const [s, w] of nodes) {
          let product = w * e.weights[b];
          for (let l = 0; l < d; l++) { before[l] = product; u[l] = Q[at + l] + s * (p[l] - Q[at + l]); product *= u[l]; }
          product = 1;
          for (let l = d - 1; l >= 0; l--) { sum[l] += before[l] * product; product *= u[l]; }
        }
        t.players.forEach(([owner], l) => { found[owner] += weight * (p[l] - Q[at + l]) * sum[l]; });
      }
    }
  }
}
function nearest(model, cells, rows, count) { // [how alike, number] of the rows that are most alike
  const {at} = model.alike, x = taken(encode(model, cells), at);
  rows.encoded ??= {X: Float64Array.from(rows.flatMap(row => [...taken(encode(model, row), at)])), rows: rows.length};
  const found = [...column(model.alike.kernel, x, rows.encoded)].map((k, i) => [k, i]);
  return found.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, count);
}
return {load, encode, predict, explanation, nearest};
})();
