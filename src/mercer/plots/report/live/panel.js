// The panel: a form for a row, and what the model says of it. Texts go through textContent alone.
{
const $ = name => document.getElementById(`live-${name}`);
const model = Live.load(JSON.parse($('model').textContent)), fields = model.fields, classes = model.classes;
const make = (tag, set = {}, ...inside) => {
  const e = Object.assign(document.createElement(tag), set);
  e.append(...inside);
  return e;
};
const text = (tag, textContent) => make(tag, {textContent});
const draw = (tag, set, text) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const name in set) e.setAttribute(name, set[name]);
  if (text != null) e.textContent = text;
  $('curve').append(e);
};
const brief = (v, digits = 4) => {
  const size = abs(v), rounded = size >= 10 ** digits ? round(v) : +v.toPrecision(digits);
  const said = v && (size >= 1e9 || size < 1e-4) ? v.toExponential(digits - 2)
    : rounded.toLocaleString('en', {maximumSignificantDigits: 12, useGrouping: size >= 1e4});
  return said.replace('-', '\u2212');
};
const percent = p => `${(100 * p).toFixed(p > 0 && p < 0.001 ? 2 : 1)}%`;
const shown = (f, v) => {
  if (v === null) return '\u2013';
  if (f.kind === 'time') return clock(v);
  return f.kind === 'date' ? dated(f, v).replace('T', ' ') : v.big ? v : brief(v, 6);
};
const dated = (f, s) => new Date(s * 1000).toISOString().slice(0, f.step < 86400 ? 16 : 10);
const clock = h => [floor(h), round(h % 1 * 60)].map(v => String(v).padStart(2, '0')).join(':');

// ---- the form ----------------------------------------------------------------------------------
const NONE = '\u0000', OTHER = '\u0001'; // no level is called so
const cells = fields.map(f => f.start);
fields.forEach((f, at) => { // in the order of the table
  f.at = at;
  const id = `live-${at}`, label = make('label', {htmlFor: id, textContent: f.name});
  const took = value => { cells[at] = value; if (!f.text) chosen.value = at; show(); };
  if (f.text) {
    f.box = make('textarea', {id, rows: 3, value: f.start});
    f.box.oninput = () => took(f.box.value);
    f.parts = [label, f.box];
    return;
  }
  if (f.levels) {
    f.box = make('select', {id}, ...f.levels.map(v => make('option', {value: v, textContent: v})));
    if (f.kind === 'category') f.box.append(make('option', {value: OTHER, textContent: 'another one'}));
    if (f.missing) f.box.append(make('option', {value: NONE, textContent: 'missing'}));
    f.box.value = f.start ?? NONE;
    f.box.oninput = () => took(f.box.value === NONE ? null : f.box.value);
    f.parts = [label, f.box];
    return;
  }
  const type = {date: f.step < 86400 ? 'datetime-local' : 'date', time: 'time'}[f.kind] || 'number';
  const put = {date: v => dated(f, v), time: clock}[f.kind] || (v => `${+v.toPrecision(6)}`);
  const read = {date: t => Date.parse(`${t}${t.includes('T') ? '' : 'T00:00'}Z`) / 1000, time: t => t.split(':').reduce((h, m) => +h + m / 60)}[f.kind] || Number;
  const step = f.step || (f.high - f.low) / 200 || 1;
  const range = make('input', {type: 'range', min: f.low, max: f.high, step: f.kind === 'time' ? 0.25 : step, value: f.start});
  range.setAttribute('aria-label', `${f.name}, slider`);
  f.box = make('input', {id, type, value: put(f.start)});
  if (type === 'number') Object.assign(f.box, {step: 'any', placeholder: 'missing'});
  range.oninput = () => { f.box.value = put(+range.value); took(+range.value); };
  f.box.oninput = () => {
    const value = f.box.value === '' ? NaN : read(f.box.value);
    if (!isNaN(value)) range.value = value;
    took(isNaN(value) ? null : value);
  };
  f.parts = [label, range, f.box];
});
const ordered = [...fields].sort((a, b) => a.place - b.place);
for (const f of ordered) $('form').append(...f.parts);
$('form').onsubmit = () => false;
const chosen = $('along');
chosen.append(...ordered.filter(f => !f.text).map(f => make('option', {value: f.at, textContent: f.name})));
chosen.value = model.along;
chosen.onchange = () => curve();
chosen.closest('figure').hidden = !chosen.value;

// ---- the answer --------------------------------------------------------------------------------
const bar = (name, share, said, colour) => {
  const mark = make('i'), track = make('span', {className: 'live-track'}, mark);
  mark.style.width = `${100 * max(share, 0)}%`;
  if (colour) mark.style.background = colour;
  return make('div', {className: 'live-bar'}, text('span', name), track, text('span', said));
};
const COLOURS = ['var(--mark)', 'var(--warm)', 'var(--soft)'];
let answer, first, waiting; // `first`: the classes that the curve shows
function show() {
  answer = Live.predict(model, cells);
  if (classes) {
    const order = classes.map((_, c) => c).sort((a, b) => answer.probabilities[b] - answer.probabilities[a]);
    first = order.slice(0, classes.length > 2 ? COLOURS.length : 1);
    $('answer').textContent = `${model.target}: ${classes[answer.choice]}`;
    $('bars').replaceChildren(...order.slice(0, 8).map((c, i) =>
      bar(classes[c], answer.probabilities[c], percent(answer.probabilities[c]), COLOURS[i] || 'var(--line)')));
  } else {
    $('answer').textContent = `${model.target}: ${brief(answer.value)}`;
    const ends = answer.interval;
    $('bars').textContent = ends ? `With 90% probability between ${brief(ends[0])} and ${brief(ends[1])}.` : '';
  }
  clearTimeout(waiting);
  waiting = setTimeout(() => { curve(); near(); explain(); }, 30);
}

// ---- the curve ---------------------------------------------------------------------------------
const LEFT = 50, RIGHT = 348, TOP = 26, BOTTOM = 176;
function ticks(low, high, most) {
  const rough = (high - low) / most || 1, unit = 10 ** floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(v => v * unit).find(v => v >= rough * (1 - 1e-9)), found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
  return found;
}
function curve() {
  if (!chosen.value) return;
  const f = fields[chosen.value], answers = value => Live.predict(model, cells.map((v, i) => i === f.at ? value : v));
  $('curve').replaceChildren();
  $('levels').replaceChildren();
  $('curve').toggleAttribute('hidden', !!f.levels);
  $('note').textContent = '';
  if (f.levels) return levels(f, answers);
  const began = Date.now();
  answers(f.low);
  const spare = 120 / max(Date.now() - began, 0.1), steps = round(min(max(spare, 8), 80));
  let values = Array.from({length: steps + 1}, (_, i) => f.low + (f.high - f.low) * i / steps);
  if (f.step) values = [...new Set(values.map(v => round(v / f.step) * f.step))];
  const now = cells[f.at];
  if (now !== null && now >= f.low && now <= f.high && !values.includes(now)) values = [...values, now].sort((a, b) => a - b);
  const found = values.map(answers);
  const lines = classes ? first.map(c => found.map(a => a.probabilities[c])) : [found.map(a => a.value)];
  const ends = classes ? [0, 1] : found.flatMap(a => [a.value, ...(a.interval || [])]);
  let low = ends.reduce((a, b) => min(a, b)), high = ends.reduce((a, b) => max(a, b));
  if (low === high) { low -= abs(low) / 10 || 1; high += abs(high) / 10 || 1; }
  const x = v => LEFT + (RIGHT - LEFT) * (v - f.low) / (f.high - f.low || 1);
  const y = v => BOTTOM - (BOTTOM - TOP) * (v - low) / (high - low);
  const path = (row, all = values) => row.map((v, i) => `${x(all[i]).toFixed(1)},${y(v).toFixed(1)}`).join(' ');
  draw('text', {class: 'title', x: 0, y: 12}, classes ? 'probability' : model.target.slice(0, 50));
  for (const v of ticks(low, high, 4)) {
    draw('line', {class: 'grid', x1: LEFT, x2: RIGHT, y1: y(v), y2: y(v)});
    draw('text', {x: LEFT - 6, y: y(v) + 4, 'text-anchor': 'end'}, classes ? `${round(100 * v)}%` : brief(v, 4));
  }
  if (found[0].interval)
    draw('polygon', {class: 'live-band', points: path([...found.map(a => a.interval[0]), ...found.map(a => a.interval[1]).reverse()], [...values, ...[...values].reverse()])});
  draw('line', {class: 'base', x1: LEFT, x2: RIGHT, y1: BOTTOM, y2: BOTTOM});
  const marks = f.kind === 'number' ? ticks(f.low, f.high, 5) : [f.low, f.high];
  marks.forEach((v, i) => draw('text', {
    x: x(v), y: BOTTOM + 17, 'text-anchor': f.kind === 'number' ? 'middle' : i ? 'end' : 'start',
  }, f.kind === 'number' ? brief(v, 6) : shown(f, v)));
  draw('text', {class: 'title', x: RIGHT, y: BOTTOM + 36, 'text-anchor': 'end'}, f.name.slice(0, 50));
  lines.forEach((row, i) => draw('polyline', {class: 'line', points: path(row), style: `stroke: ${COLOURS[i]}`}));
  if (now === null || now < f.low || now > f.high) return;
  draw('line', {class: 'guide', x1: x(now), x2: x(now), y1: TOP, y2: BOTTOM});
  lines.forEach((row, i) => draw('circle', {class: 'dot', cx: x(now), cy: y(row[values.indexOf(now)]), r: 4, style: `fill: ${COLOURS[i]}`}));
}
function levels(f, answers) {
  const value = a => classes ? a.probabilities[first[0]] : a.value;
  const found = f.levels.slice(0, 60).map(level => [level, value(answers(level))]);
  const all = found.map(([, v]) => v), low = classes ? 0 : min(0, ...all), high = classes ? 1 : max(0, ...all);
  $('levels').append(...found.map(([level, v]) => bar(level, (v - low) / (high - low || 1), classes ? percent(v) : brief(v),
    COLOURS[+(level === cells[f.at])])));
  if (classes) $('note').textContent = `The probability of ${classes[first[0]]}.`;
}

// ---- what moved the answer ---------------------------------------------------------------------
let later;
function explain() {
  clearTimeout(later);
  if (!model.explained) return;
  const {outputs, what, weights} = model.explained, c = answer.choice, sign = classes && outputs === 1 && c === 0 ? -1 : 1;
  const more = Live.explanation(model, cells, outputs > 1 ? c : 0), until = Date.now() + 4000;
  const step = () => {
    const [values, error] = more(150), phi = [...values].map(v => sign * v), most = max(...phi.map(abs)) || 1;
    const order = fields.map((_, i) => i).sort((a, b) => abs(phi[b]) - abs(phi[a])).slice(0, 12);
    const sampled = error ? `, from a sample, with standard errors up to ${brief(error, 1)}` : '';
    $('against').textContent = `What each column adds ${what}${classes ? '“' + classes[c] + '”' : ''} (Shapley values${sampled}), against ${weights.length} training rows that stand for all.`;
    $('phi').replaceChildren(...order.map(i => {
      const made = bar(fields[i].name, abs(phi[i]) / most / 2, (phi[i] > 0 ? '+' : '') + brief(phi[i], 2), COLOURS[+(phi[i] < 0)]);
      made.querySelector('i').style.marginLeft = `${50 - (phi[i] < 0 ? 50 * abs(phi[i]) / most : 0)}%`;
      return made;
    }));
    if (error > most / 50 && Date.now() < until) later = setTimeout(step, 15);
  };
  step();
}

// ---- rows that are alike -----------------------------------------------------------------------
function near() {
  if (!model.rows) return;
  const rows = model.rows.cells, targets = model.rows.targets;
  const target = t => typeof t === 'number' ? brief(t, 6) : t;
  const body = Live.nearest(model, cells, rows, 5).map(([k, i]) => make('tr', {},
    ...[target(targets[i]), k.toFixed(2), ...ordered.map(f => shown(f, rows[i][f.at]))].map(cell => text('td', cell))));
  $('near').replaceChildren(make('thead', {}, make('tr', {}, ...[model.target, 'alike', ...ordered.map(f => f.name)].map(name => text('th', name)))), make('tbody', {}, ...body));
}
show();
}
