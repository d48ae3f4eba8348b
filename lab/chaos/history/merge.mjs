import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The histories of all processes as one, in the order of time. A line that a killed process did not finish is left out,
 * and so is nothing else.
 */
export function mergeHistories(directory) {
  const events = readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => parseLines(readFileSync(join(directory, name), 'utf8')));
  events.sort((a, b) => a.at - b.at);
  return withInfos(events);
}

export const readHistory = (file) => parseLines(readFileSync(file, 'utf8'));

export function writeHistory(file, events) {
  writeFileSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
}

function parseLines(text) {
  const lines = text.split('\n');
  // Empty where the last line is whole.
  lines.pop();
  return lines.map((line) => JSON.parse(line));
}

/** Adds an `info` for each operation that a process had requested when it died: its outcome is unknown. */
function withInfos(events) {
  const open = new Map();
  const all = [];
  for (const event of events) {
    all.push(event);
    if (event.type === 'invoke') open.set(event.op, event);
    if (event.type === 'ok' || event.type === 'fail') open.delete(event.op);
    if (event.type !== 'down') continue;
    for (const { op, client } of open.values()) {
      if (client !== event.client) continue;
      open.delete(op);
      all.push({ at: event.at, type: 'info', client, op });
    }
  }
  return all;
}
