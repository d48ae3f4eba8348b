const [major] = process.versions.node.split('.').map(Number);

/**
 * Arguments of Node for a process that ends after seconds. Node 20 optimizes a function when it has executed 66 kB of its
 * code, and few functions run often enough to be worth that: at 500 kB, such a process needs 7 to 15 % less of the
 * processor. From Node 22 on, V8 counts calls instead, 3000 by default.
 */
export const SHORT_LIVED = major < 22 ? ['--interrupt-budget=500000'] : [];
