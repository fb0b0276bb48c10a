// Draws the graph from the data embedded in the page. The list below it has the same content.
const { forceSimulation, forceLink, forceManyBody, forceCollide, forceX, forceY } = globalThis.d3;
const NARROW = 600;
const holder = document.getElementById("graph");
const narrow = (holder?.parentElement.clientWidth ?? 0) < NARROW;
const SVG = "http://www.w3.org/2000/svg";
const TICKS = 320;
const LETTER = 6.4;
const STEP = 1.35;

function make(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const letters = narrow ? 16 : 26;
const size = (node) => (node.distance === 0 ? 11 : 5 + Math.min(4, Math.sqrt(node.links)));
const short = (text) => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);

// Compute the layout before showing it: nothing moves, and the same data give the same drawing.
function settle(nodes, edges) {
  const simulation = forceSimulation(nodes)
    .force("link", forceLink(edges).id((node) => node.key).distance(narrow ? 38 : 85).strength(0.5))
    .force("charge", forceManyBody().strength(narrow ? -75 : -260).distanceMax(450))
    .force("collide", forceCollide((node) => size(node) + (narrow ? 4 : 10)))
    .force("x", forceX(0).strength(narrow ? 0.22 : 0.05))
    .force("y", forceY(0).strength(narrow ? 0.06 : 0.12))
    .stop();
  simulation.tick(TICKS);
}

function draw(target, { nodes, edges }) {
  const canvas = target.querySelector(".canvas");
  const description = target.querySelector(".description");
  nodes[0].fx = nodes[0].fy = 0;
  const lines = edges.map((edge) => ({ ...edge }));
  settle(nodes, lines);
  place(nodes);
  const svg = make("svg", { role: "group", "aria-label": `Picture: ${nodes.length} nodes, ${edges.length} edges` });
  const drawnEdges = lines.map((edge) => drawEdge(edge));
  const drawnNodes = nodes.map((node) => drawNode(node));
  svg.append(make("g", {}, ...drawnEdges), make("g", {}, ...drawnNodes));
  canvas.replaceChildren(svg);
  describe(svg, description, nodes, lines, drawnNodes, drawnEdges);
  walk(nodes, drawnNodes);
  look(target, svg, nodes);
}

function drawEdge(edge) {
  const { source, target } = edge;
  const title = make("title", {}, `${edge.type.toLowerCase().replaceAll("_", " ")}`);
  return make("line", { class: `edge ${edge.type}`, x1: source.x, y1: source.y, x2: target.x, y2: target.y }, title);
}

function drawNode(node) {
  const r = size(node);
  const isName = node.kind === "name";
  const shape = isName ? make("rect", { x: -r, y: -r, width: 2 * r, height: 2 * r, rx: 2 }) : make("circle", { r });
  const classes = ["node", isName ? "name" : "memory"];
  if (node.old) classes.push("old");
  if (node.distance === 0) classes.push("centre");
  if (!node.labelled) classes.push("quiet");
  const side = node.left ? { x: -r - 4, "text-anchor": "end" } : { x: r + 4 };
  const label = make("text", { ...side, y: 4 }, short(node.label));
  const address = new URL(location.href);
  address.searchParams.delete("id");
  address.searchParams.delete("entity");
  address.searchParams.set("about", node.key);
  const where = { transform: `translate(${node.x} ${node.y})`, href: address.pathname + address.search };
  return make("a", { ...where, class: classes.join(" "), "aria-label": spoken(node) }, shape, label);
}

function spoken(node) {
  const what = node.kind === "name" ? "name" : `${node.old ? "replaced " : ""}${node.kind.replaceAll("_", " ")}`;
  return `${what}: ${node.label} (${node.links} ${node.links === 1 ? "edge" : "edges"})`;
}

// Draw labels where they cover no node or other label, nearest nodes first; the others appear on hover.
function place(nodes) {
  const taken = nodes.map((node) => box(node.x - size(node), node.y - size(node), 2 * size(node), 2 * size(node)));
  const order = nodes.filter((node) => !narrow || nodes.length < 12 || node.kind === "name" || node.distance === 0).sort((a, b) => a.distance - b.distance || b.links - a.links);
  for (const node of order) {
    const width = short(node.label).length * LETTER;
    for (const left of node.x < 0 ? [true, false] : [false, true]) {
      const x = left ? node.x - size(node) - 4 - width : node.x + size(node) + 4;
      const wanted = box(x, node.y - 8, width, 16);
      if (node.distance > 0 && taken.some((other) => overlap(other, wanted))) continue;
      node.labelled = true;
      node.left = left;
      taken.push(wanted);
      break;
    }
  }
}

const box = (x, y, width, height) => ({ x, y, width, height });

function overlap(a, b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

// On hover or focus, describe the node and highlight its neighbours.
function describe(svg, description, nodes, lines, drawnNodes, drawnEdges) {
  const hint = description.textContent;
  const light = (node) => {
    svg.classList.toggle("busy", Boolean(node));
    const near = new Set([node]);
    lines.forEach((edge, at) => {
      const mine = edge.source === node || edge.target === node;
      drawnEdges[at].classList.toggle("lit", mine);
      if (mine) near.add(edge.source).add(edge.target);
    });
    nodes.forEach((other, at) => drawnNodes[at].classList.toggle("lit", near.has(other)));
    description.textContent = node ? spoken(node) : hint;
  };
  nodes.forEach((node, at) => {
    const element = drawnNodes[at];
    for (const event of ["pointerenter", "focus"]) element.addEventListener(event, () => light(node));
    for (const event of ["pointerleave", "blur"]) element.addEventListener(event, () => light(null));
  });
}

const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

// A single tab stop; arrow keys move to the nearest node in their direction.
function walk(nodes, drawn) {
  drawn.forEach((element, at) => {
    element.setAttribute("tabindex", at === 0 ? "0" : "-1");
    element.addEventListener("focus", () => drawn.forEach((other) => other.setAttribute("tabindex", other === element ? "0" : "-1")));
    element.addEventListener("keydown", (event) => {
      const direction = ARROWS[event.key];
      if (!direction || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const next = nearest(nodes, nodes[at], direction);
      if (next >= 0) drawn[next].focus();
    });
  });
}

function nearest(nodes, from, [right, down]) {
  let best = -1;
  let least = Infinity;
  nodes.forEach((node, at) => {
    const x = node.x - from.x;
    const y = node.y - from.y;
    const along = x * right + y * down;
    const across = Math.abs(x * down) + Math.abs(y * right);
    const cost = along + 2 * across;
    if (along > 0.5 && cost < least) [best, least] = [at, cost];
  });
  return best;
}

// The view shows everything at first; buttons zoom, dragging pans.
function look(target, svg, nodes) {
  const whole = bounds(nodes, svg.parentElement.clientWidth || 600);
  let view = { ...whole };
  const show = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  const zoom = (factor) => {
    const width = Math.min(whole.width * 2, Math.max(whole.width / 8, view.width * factor));
    const height = (width * whole.height) / whole.width;
    view = { x: view.x + (view.width - width) / 2, y: view.y + (view.height - height) / 2, width, height };
    show();
  };
  target.querySelector(".graph-tools").addEventListener("click", (event) => {
    const what = event.target.closest("[data-zoom]")?.dataset.zoom;
    if (what === "all") {
      view = { ...whole };
      show();
    } else if (what) zoom(what === "in" ? 1 / STEP : STEP);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!(event.buttons & 1) || event.pointerType === "touch") return;
    const scale = view.width / svg.clientWidth;
    view.x -= event.movementX * scale;
    view.y -= event.movementY * scale;
    show();
  });
  svg.addEventListener("dragstart", (event) => event.preventDefault());
  show();
}

function bounds(nodes, width) {
  const edge = (node) => (node.labelled ? short(node.label).length * LETTER + 14 : 14);
  const left = Math.min(...nodes.map((node) => node.x - (node.left ? edge(node) : 14)));
  const right = Math.max(...nodes.map((node) => node.x + (node.left ? 14 : edge(node))));
  const top = Math.min(...nodes.map((node) => node.y)) - 22;
  const bottom = Math.max(...nodes.map((node) => node.y)) + 22;
  const wide = Math.max(right - left, width);
  const high = Math.max(bottom - top, 160);
  return { x: (left + right - wide) / 2, y: (top + bottom - high) / 2, width: wide, height: high };
}

const data = JSON.parse(document.getElementById("graph-data")?.textContent || "null");
if (holder && data) draw(holder, data);
