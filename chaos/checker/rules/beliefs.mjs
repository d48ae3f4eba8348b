/** A handle that has said no never says yes again, and says no by its signal as well. */
export function beliefs({ operations }) {
  const found = [];
  for (const { op, keys, marks } of operations) {
    const say = (at, message) => found.push({ rule: 'beliefs', at, key: keys[0], message, operations: [op] });
    let over = false;
    for (const mark of marks) {
      if (mark.type === 'look' && mark.held) {
        if (over) say(mark.at, `${op} had lost '${keys}', and then it was held again`);
      } else if (mark.type !== 'extend') {
        if (mark.type === 'look' && !mark.aborted)
          say(mark.at, `${op} does not hold '${keys}' any more, and its signal has not aborted`);
        over = true;
      }
    }
  }
  return found;
}
