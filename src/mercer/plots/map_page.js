'use strict';
// The map of map_page.html: points on a canvas, coloured by a column; the row under the mouse, the
// row that was chosen, words to find, clusters. `data` comes from map_page.py. Nothing is markup:
// every text goes through textContent.
const $ = id => document.getElementById(id);
const data = JSON.parse($('data').textContent), n = data.n;
const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer;
const place = new Uint16Array(bytes(data.places));
const number = data.rows ? new Uint32Array(bytes(data.rows)) : null; // of a row in its table
const LEVELS = ['#e69f00', '#0072b2', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#c9b400', '#7b5ea7', '#a6761d', '#5b8c2a', '#b03060', '#2aa198'];
const RAMP = ['#3b6fb6', '#4fa3a5', '#a9b45b', '#e6a03f', '#cf4a58'], STEPS = 64, NEAR = 12;
const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
const steps = Array.from({length: STEPS}, (_, i) => {
  const t = i / (STEPS - 1) * (RAMP.length - 1), a = Math.min(Math.floor(t), RAMP.length - 2);
  const [low, high] = [rgb(RAMP[a]), rgb(RAMP[a + 1])];
  return low.map((v, c) => Math.round(v + (high[c] - v) * (t - a)));
});
const make = (tag, text, inside) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (inside) inside.append(e);
  return e;
};
const count = (k, what) => `${k.toLocaleString('en')} ${what}${k === 1 ? '' : 's'}`;

// ---- columns -----------------------------------------------------------------------------------
for (const c of data.columns) {
  if (c.levels) {
    c.codes = c.wide ? new Uint32Array(bytes(c.cells)) : new Uint16Array(bytes(c.cells));
    c.lower = c.levels.map(text => text.toLowerCase());
  } else {
    c.codes = c.wide ? new Float64Array(bytes(c.cells)) : new Float32Array(bytes(c.cells));
    const known = c.codes.filter(v => v === v).sort();
    c.low = known[Math.floor(0.02 * (known.length - 1))];
    c.high = known[Math.ceil(0.98 * (known.length - 1))];
    if (c.low === c.high) { c.low = known[0]; c.high = known[known.length - 1]; }
  }
}
const spoken = (c, v) => {
  if (c.kind === 'date') {
    const text = new Date(v * 1000).toISOString();
    return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text.slice(0, 19).replace('T', ' ');
  }
  if (c.kind === 'time') return `${String(Math.floor(v)).padStart(2, '0')}:${String(Math.round(v * 60) % 60).padStart(2, '0')}`;
  return Number.isInteger(v) ? String(v) : String(Number(v.toPrecision(c.wide ? 12 : 6)));
};
const known = (c, i) => c.levels ? c.codes[i] < c.levels.length : c.codes[i] === c.codes[i];
const text = (c, i) => !known(c, i) ? '' : c.levels ? c.levels[c.codes[i]] : spoken(c, c.codes[i]);
const many = c => c.levels && !c.cluster && c.levels.length > LEVELS.length;

// ---- colours -----------------------------------------------------------------------------------
let column = data.columns[data.color], only = -1, chosen = -1, under = -1, matched = null, step = -1;
let paper, rest, ink, shades, shade = new Uint16Array(n);
function look() {
  const style = getComputedStyle(document.documentElement);
  [paper, rest, ink] = ['--paper', '--rest', '--ink'].map(name => rgb(style.getPropertyValue(name).trim()));
}
function paint() { // shade 0 is that of cells without a colour
  shades = [rest, ...(column.levels ? LEVELS.map(rgb) : steps)];
  const {codes} = column, most = LEVELS.length;
  if (column.levels) {
    const all = column.levels.length, some = many(column) ? most - 1 : all;
    for (let i = 0; i < n; i++) shade[i] = codes[i] < some ? 1 + codes[i] % most : 0;
  } else {
    const {low, high} = column, unit = (STEPS - 1) / (high - low || 1);
    for (let i = 0; i < n; i++) {
      const v = codes[i];
      shade[i] = v === v ? 1 + Math.round(Math.min(Math.max((v - low) * unit, 0), STEPS - 1)) : 0;
    }
  }
}
function legend() {
  const key = $('key');
  key.replaceChildren();
  if (!column.levels) {
    const ramp = make('div', undefined, key), ends = make('div', undefined, key);
    ramp.className = 'ramp'; ends.className = 'ends';
    ramp.style.background = `linear-gradient(90deg, ${RAMP.join(', ')})`;
    for (const v of [column.low, column.high]) make('span', v === undefined ? '' : spoken(column, v), ends);
    return;
  }
  if (column.cluster) return; // the list of clusters tells the colours
  const some = many(column) ? LEVELS.length - 1 : column.levels.length;
  column.levels.slice(0, some).forEach((level, code) => {
    const b = make('button', undefined, key);
    make('i', undefined, b).style.background = LEVELS[code % LEVELS.length];
    b.append(level.length > 40 ? level.slice(0, 39) + '…' : level);
    b.setAttribute('aria-pressed', only === code);
    b.onclick = () => { only = only === code ? -1 : code; legend(); draw(); };
  });
  if (some < column.levels.length) make('span', `${(column.levels.length - some).toLocaleString('en')} others are grey`, key).className = 'soft';
}

// ---- the plane ---------------------------------------------------------------------------------
const map = $('map'), pen = map.getContext('2d', {willReadFrequently: true}), SIDE = 65535;
let wide = 1, high = 1, ratio = 1, scale = 1, x0 = SIDE / 2, y0 = SIDE / 2, image, waiting = false;
const fit = () => 0.92 * Math.min(wide / (data.width || 1), high / (data.height || 1)) / SIDE;
const at = i => [(place[2 * i] - x0) * scale + wide / 2, (y0 - place[2 * i + 1]) * scale + high / 2];
const radius = () => Math.min(9, Math.max(1.3, Math.min(5, 0.25 * Math.sqrt(wide * high / n))) * (scale / fit()) ** 0.35);
function size() {
  const whole = scale / fit(), box = map.getBoundingClientRect();
  ratio = window.devicePixelRatio || 1; wide = box.width; high = box.height;
  map.width = Math.max(1, Math.round(wide * ratio)); map.height = Math.max(1, Math.round(high * ratio));
  image = new ImageData(map.width, map.height);
  scale = (isFinite(whole) && size.done ? whole : 1) * fit(); size.done = true;
  draw();
}
function home() { x0 = y0 = SIDE / 2; scale = fit(); draw(); }
function zoom(factor, x = wide / 2, y = high / 2) {
  factor = Math.min(Math.max(scale * factor, 0.5 * fit()), 400 * fit()) / scale;
  x0 += (x - wide / 2) * (1 - 1 / factor) / scale; y0 -= (y - high / 2) * (1 - 1 / factor) / scale;
  scale *= factor; draw();
}
function move(dx, dy) { x0 -= dx / scale; y0 += dy / scale; draw(); }
function draw() { if (!waiting) { waiting = true; requestAnimationFrame(render); } }

// All points are blended into one image: 100,000 of them take a few milliseconds.
function render() {
  waiting = false;
  const W = map.width, H = map.height, buffer = image.data, r = radius() * ratio, reach = Math.ceil(r);
  new Uint32Array(buffer.buffer).fill(255 << 24 | paper[2] << 16 | paper[1] << 8 | paper[0]);
  const offset = [], cover = [];
  for (let b = -reach; b <= reach; b++) for (let a = -reach; a <= reach; a++) {
    const part = Math.min(1, Math.max(0, r + 0.5 - Math.hypot(a, b)));
    if (part > 0) { offset.push(4 * (b * W + a)); cover.push(0.85 * part); }
  }
  const offsets = Int32Array.from(offset), covers = Float64Array.from(cover), marks = offsets.length;
  const tints = Uint8Array.from(shades.flat());
  const k = scale * ratio, dx = W / 2 - x0 * k, dy = H / 2 + y0 * k, dimmed = only >= 0 || matched;
  for (let pass = dimmed ? 0 : 1; pass < 2; pass++) {
    const strength = pass ? 1 : 0.13;
    for (let i = 0; i < n; i++) {
      if (dimmed && shown(i) !== !!pass) continue;
      const x = Math.round(place[2 * i] * k + dx), y = Math.round(dy - place[2 * i + 1] * k);
      if (x < reach || y < reach || x >= W - reach || y >= H - reach) continue;
      const t = 3 * shade[i], red = tints[t], green = tints[t + 1], blue = tints[t + 2], start = 4 * (y * W + x);
      for (let m = 0; m < marks; m++) {
        const p = start + offsets[m], a = covers[m] * strength;
        buffer[p] += (red - buffer[p]) * a;
        buffer[p + 1] += (green - buffer[p + 1]) * a;
        buffer[p + 2] += (blue - buffer[p + 2]) * a;
      }
    }
  }
  pen.putImageData(image, 0, 0);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (column.cluster) numbers();
  for (const [i, line] of [[under, 1.5], [chosen, 3]]) if (i >= 0) {
    const [x, y] = at(i);
    pen.strokeStyle = `rgb(${ink})`; pen.lineWidth = line;
    pen.beginPath(); pen.arc(x, y, radius() + 3, 0, 7); pen.stroke();
  }
  pen.setTransform(1, 0, 0, 1, 0, 0);
}
const shown = i => (only < 0 || column.codes[i] === only) && (!matched || matched[i] === 1);
function numbers() { // of the clusters, at the row in their middle
  pen.font = '600 13px system-ui, sans-serif'; pen.textAlign = 'center'; pen.textBaseline = 'middle';
  pen.lineJoin = 'round'; pen.lineWidth = 4;
  const taken = [];
  data.clusters.forEach((cluster, c) => {
    if (only >= 0 && only !== c) return;
    const [x, y] = at(cluster.row);
    if (taken.some(([a, b]) => Math.abs(a - x) < 20 && Math.abs(b - y) < 16)) return;
    taken.push([x, y]);
    pen.strokeStyle = `rgb(${paper})`; pen.fillStyle = `rgb(${ink})`;
    pen.strokeText(c + 1, x, y); pen.fillText(c + 1, x, y);
  });
}

// ---- which row is under a point: rows by squares of the plane ------------------------------------
const squares = Math.max(1, Math.ceil(Math.sqrt(n / 4))), unit = (SIDE + 1) / squares;
const square = i => Math.floor(place[2 * i + 1] / unit) * squares + Math.floor(place[2 * i] / unit);
const starts = new Uint32Array(squares * squares + 1), inside = new Uint32Array(n);
for (let i = 0; i < n; i++) starts[square(i) + 1]++;
for (let s = 0; s < squares * squares; s++) starts[s + 1] += starts[s];
{ const next = starts.slice(); for (let i = 0; i < n; i++) inside[next[square(i)]++] = i; }
function nearest(x, y) {
  const px = (x - wide / 2) / scale + x0, py = y0 - (y - high / 2) / scale, far = Math.max(NEAR, radius() + 2) / scale;
  const [a, b] = [px - far, px + far].map(v => Math.min(Math.max(Math.floor(v / unit), 0), squares - 1));
  const [c, d] = [py - far, py + far].map(v => Math.min(Math.max(Math.floor(v / unit), 0), squares - 1));
  let best = -1, least = far * far;
  for (let q = c; q <= d; q++) for (let m = starts[q * squares + a]; m < starts[q * squares + b + 1]; m++) {
    const i = inside[m], gap = (place[2 * i] - px) ** 2 + (place[2 * i + 1] - py) ** 2;
    if (gap <= least && ((only < 0 && !matched) || shown(i))) { least = gap; best = i; }
  }
  return best;
}
const title = i => `Row ${(number ? number[i] : i + 1).toLocaleString('en')}`;
function hover(i, x, y) {
  if (i !== under) { under = i; draw(); }
  const tip = $('tip');
  tip.hidden = i < 0;
  if (i < 0) return;
  tip.replaceChildren(make('b', title(i)));
  const first = data.columns.filter(c => c === column || !c.own).slice(0, 8);
  for (const c of first.includes(column) ? first : [column, ...first]) {
    const line = make('div', undefined, tip);
    make('span', c.name + ' ', line);
    line.append(text(c, i).slice(0, 160) || '–');
  }
  tip.style.left = Math.max(4, Math.min(x + 16, wide - tip.offsetWidth - 4)) + 'px';
  tip.style.top = (y + 16 + tip.offsetHeight > high ? Math.max(4, y - 12 - tip.offsetHeight) : y + 16) + 'px';
}

// ---- the row that was chosen -------------------------------------------------------------------
function choose(i, centred) {
  chosen = i;
  $('chosen').hidden = i < 0;
  if (i >= 0) {
    $('which').textContent = title(i);
    $('pictures').replaceChildren(); $('cells').replaceChildren();
    for (const c of data.columns) {
      const line = make('tr', undefined, $('cells'));
      make('th', c.name, line).scope = 'row';
      make('td', text(c, i) || '–', line);
      if (c.pictures && c.pictures[i]) picture(c.pictures[i], c.name);
    }
    if (centred) {
      const [x, y] = at(i);
      if (x < 20 || y < 20 || x > wide - 20 || y > high - 20) { x0 = place[2 * i]; y0 = place[2 * i + 1]; }
    }
  }
  draw();
}
function picture(p, name) {
  const c = make('canvas', undefined, $('pictures')), g = c.getContext('2d'), W = c.width = 600, pad = 16;
  c.setAttribute('role', 'img'); c.setAttribute('aria-label', name);
  if (p.pixels) {
    const level = new Uint8Array(bytes(p.pixels)), small = new OffscreenCanvas(p.wide, p.high), grey = new ImageData(p.wide, p.high);
    level.forEach((v, j) => grey.data.set([v, v, v, 255], 4 * j));
    small.getContext('2d').putImageData(grey, 0, 0);
    c.width = c.height = 600;
    const side = 600 / Math.max(p.wide, p.high);
    g.imageSmoothingEnabled = false;
    g.drawImage(small, (600 - p.wide * side) / 2, (600 - p.high * side) / 2, p.wide * side, p.high * side);
  } else if (p.curves) {
    const H = c.height = 240, flat = p.curves.flat(), low = Math.min(...flat), span = Math.max(...flat) - low || 1;
    p.curves.forEach((values, k) => {
      g.strokeStyle = LEVELS[(k + 1) % LEVELS.length]; g.lineWidth = 3; g.lineJoin = 'round'; g.beginPath();
      values.forEach((v, t) => g.lineTo(pad + (W - 2 * pad) * t / Math.max(values.length - 1, 1), H - pad - (H - 2 * pad) * (v - low) / span));
      g.stroke();
    });
  } else {
    const xs = p.nodes.map(v => v[0]), ys = p.nodes.map(v => v[1]), room = p.written ? 60 : 20;
    const [left, low] = [Math.min(...xs), Math.min(...ys)], [w, h] = [Math.max(...xs) - left || 1e-9, Math.max(...ys) - low];
    const side = Math.min((W - 2 * room) / w, 400 / (h || 1e-9), 90), H = c.height = h * side + 2 * 26;
    const X = i => (W - w * side) / 2 + (xs[i] - left) * side, Y = i => H - 26 - (ys[i] - low) * side;
    g.strokeStyle = `rgb(${rest})`; g.lineWidth = 2;
    for (const [a, b] of p.edges) { g.beginPath(); g.moveTo(X(a), Y(a)); g.lineTo(X(b), Y(b)); g.stroke(); }
    g.textAlign = 'center'; g.textBaseline = 'middle'; g.font = '18px system-ui, sans-serif';
    p.nodes.forEach((v, i) => {
      if (p.written) {
        const label = p.names[v[2]] ?? '';
        g.strokeStyle = getComputedStyle(c).backgroundColor; g.lineWidth = 6; g.strokeText(label, X(i), Y(i));
        g.fillStyle = `rgb(${ink})`; g.fillText(label, X(i), Y(i));
      } else {
        g.fillStyle = LEVELS[v[2] % LEVELS.length]; g.beginPath(); g.arc(X(i), Y(i), Math.max(4, Math.min(9, side / 4)), 0, 7); g.fill();
      }
    });
    if (!p.written) p.names.forEach((label, k) => {
      const tag = make('span', undefined, $('pictures'));
      tag.style.marginRight = '0.8rem';
      make('i', undefined, tag).style.background = LEVELS[k % LEVELS.length];
      tag.append(label);
    });
  }
}

// ---- search ------------------------------------------------------------------------------------
function search() {
  const want = $('find').value.trim().toLowerCase();
  matched = null; step = -1;
  if (want) {
    matched = new Uint8Array(n);
    const value = Number(want);
    for (const c of data.columns) {
      if (c.levels) {
        const hits = c.lower.map(level => level.includes(want));
        if (hits.includes(true)) for (let i = 0; i < n; i++) if (hits[c.codes[i]]) matched[i] = 1;
      } else if (c.kind === 'number' && value === value) {
        for (let i = 0; i < n; i++) if (c.codes[i] === value || c.codes[i] === Math.fround(value)) matched[i] = 1;
      } else if (c.kind !== 'number') {
        for (let i = 0; i < n; i++) if (!matched[i] && text(c, i).startsWith(want)) matched[i] = 1;
      }
    }
    const found = matched.reduce((a, b) => a + b, 0);
    $('found').textContent = found ? `${count(found, 'row')} found; Enter goes from one to the next` : 'no row found';
  } else $('found').textContent = '';
  draw();
}
function next() {
  if (!matched) return;
  for (let k = 1; k <= n; k++) if (matched[(step + k) % n]) { step = (step + k) % n; return choose(step, true); }
}

// ---- clusters ----------------------------------------------------------------------------------
if (data.clusters.length || data.noise !== null) {
  $('clusters').hidden = false;
  const k = data.clusters.length;
  $('apart').textContent = k ? `${count(k, 'cluster')}; ${count(data.noise, 'row')} belong${data.noise === 1 ? 's' : ''} to none.` : 'No cluster was found: there is no group that is denser than what is around it.';
  const own = data.columns.findIndex(c => c.cluster);
  data.clusters.forEach((cluster, c) => {
    const item = make('li', undefined, $('groups')), b = make('button', undefined, item);
    make('i', undefined, b).style.background = LEVELS[c % LEVELS.length];
    b.append(`Cluster ${c + 1}: ${count(cluster.size, 'row')}`);
    b.setAttribute('aria-pressed', 'false');
    b.onclick = () => {
      $('by').value = own; recolour(own);
      only = only === c ? -1 : c;
      press(); draw();
    };
    const words = make('ul', undefined, item);
    for (const said of cluster.words) make('li', said, words);
    const typical = make('li', 'A row in its middle: ', words), go = make('a', title(cluster.row).toLowerCase(), typical);
    go.href = '#'; go.onclick = e => { e.preventDefault(); choose(cluster.row, true); };
  });
}
const press = () => [...$('groups').children].forEach((item, c) => item.firstChild.setAttribute('aria-pressed', !!column.cluster && only === c));
function recolour(which) { if (column !== data.columns[which]) { column = data.columns[which]; only = -1; } paint(); legend(); press(); draw(); }

// ---- the hands ---------------------------------------------------------------------------------
const fingers = new Map();
let travelled = 0;
map.onpointerdown = e => { map.setPointerCapture(e.pointerId); fingers.set(e.pointerId, [e.offsetX, e.offsetY]); travelled = fingers.size > 1 ? 99 : 0; };
map.onpointermove = e => {
  const before = fingers.get(e.pointerId), now = [e.offsetX, e.offsetY];
  if (!before) return hover(nearest(...now), ...now);
  const others = [...fingers].filter(([id]) => id !== e.pointerId).map(([, p]) => p);
  if (others.length) {
    const o = others[0], gap = p => Math.hypot(p[0] - o[0], p[1] - o[1]);
    zoom(gap(now) / Math.max(gap(before), 1), (now[0] + o[0]) / 2, (now[1] + o[1]) / 2);
    move((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
  } else {
    travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (travelled > 3) { hover(-1); move(now[0] - before[0], now[1] - before[1]); }
  }
  fingers.set(e.pointerId, now);
};
map.onpointerup = e => { fingers.delete(e.pointerId); if (travelled <= 3) choose(nearest(e.offsetX, e.offsetY)); };
map.onpointercancel = e => fingers.delete(e.pointerId);
map.onpointerleave = () => hover(-1);
map.addEventListener('wheel', e => { e.preventDefault(); hover(-1); zoom(Math.exp(-e.deltaY * (e.deltaMode ? 16 : 1) / 400), e.offsetX, e.offsetY); }, {passive: false});
map.onkeydown = e => {
  const act = {
    ArrowLeft: () => move(60, 0), ArrowRight: () => move(-60, 0), ArrowUp: () => move(0, 60), ArrowDown: () => move(0, -60),
    '+': () => zoom(1.4), '=': () => zoom(1.4), '-': () => zoom(1 / 1.4), 0: home, n: next,
    Escape: () => { only = -1; press(); legend(); choose(-1); },
  }[e.key];
  if (act && !e.ctrlKey && !e.metaKey) { e.preventDefault(); act(); }
};
$('in').onclick = () => zoom(1.5); $('out').onclick = () => zoom(1 / 1.5); $('home').onclick = home;
$('close').onclick = () => choose(-1);
$('find').oninput = search; $('find').onkeydown = e => { if (e.key === 'Enter') next(); };
$('by').onchange = e => recolour(+e.target.value);
data.columns.forEach((c, k) => $('by').add(new Option(c.name, k)));
$('by').value = data.color;
$('size').textContent = data.of > n ? `${count(n, 'row')}, drawn at random from ${data.of.toLocaleString('en')}` : count(n, 'row');
for (const note of data.notes) make('p', note, $('notes'));
matchMedia('(prefers-color-scheme: dark)').onchange = () => { look(); paint(); draw(); };
addEventListener('resize', size);
look(); paint(); legend(); size();
