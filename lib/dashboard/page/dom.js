/** An element with attributes and children. Children are texts or nodes: nothing is ever read as HTML. */
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Text or nodes with a look, if any: the name of a class, or several. */
export const span = (look, ...children) => element('span', { class: look }, ...children);

/** A button that does not submit a form. */
export function button(text, attributes, clicked) {
  const node = element('button', { type: 'button', ...attributes }, text);
  node.addEventListener('click', clicked);
  return node;
}

const SVG = 'http://www.w3.org/2000/svg';

/** Like `element`, for SVG. */
export function drawn(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== undefined));
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Writes a text only if it has changed, so that selections stay and screen readers do not repeat it. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Shows a text, or hides its element if there is none. */
export function show(node, text) {
  node.hidden = text === undefined;
  write(node, text ?? '');
}
