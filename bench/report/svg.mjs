/** As much of SVG as the charts need. Text is escaped; numbers are rounded. */
export function svg({ width, height, title, about }, body) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
      'role="img" font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="12">',
    `<title>${escape(title)}</title>`,
    `<desc>${escape(about)}</desc>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...body,
    '</svg>',
    '',
  ].join('\n');
}

export const text = (x, y, content, attributes = {}) =>
  `<text${write({ x, y, fill: '#1f2328', ...attributes })}>${escape(content)}</text>`;

export const rect = (x, y, width, height, attributes) => `<rect${write({ x, y, width, height, ...attributes })}/>`;

export const line = (x1, y1, x2, y2, attributes) => `<line${write({ x1, y1, x2, y2, ...attributes })}/>`;

export const circle = (cx, cy, r, attributes) => `<circle${write({ cx, cy, r, ...attributes })}/>`;

export const polyline = (points, attributes) =>
  `<polyline points="${points.map((point) => point.map((value) => value.toFixed(1)).join(',')).join(' ')}"${write(attributes)}/>`;

const write = (attributes) =>
  Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${typeof value === 'number' ? Number(value.toFixed(1)) : value}"`)
    .join('');

const escape = (content) =>
  content.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
