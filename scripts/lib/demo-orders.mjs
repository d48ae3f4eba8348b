import { Agent } from 'node:http';
import { performance } from 'node:perf_hooks';
import { count, line, percentile, table, time } from './demo-report.mjs';

const ARTICLES = ['lamp', 'table', 'chair', 'shelf', 'carpet', 'mirror'];
const IN_STOCK = 300;
const ORDERS = 3_000;
/** How many customers are ordering at the same time at each process. */
const CUSTOMERS = 20;

const PLACED = 201;
const SOLD_OUT = 409;

/** The same crowd of customers twice: without the lock, and with it. */
export async function sellOut(shops, results) {
  await order(shops, 'unguarded', ['warm-up'], 300);
  const without = await sell(shops, 'unguarded');
  const guarded = await sell(shops, 'guarded');
  // Without the lock no order waited for it.
  const waited = (await Promise.all(shops.map((shop) => shop.ask('GET', '/metrics/locks')))).flatMap((m) => m.waited);

  table(
    [
      `${count(ORDERS)} orders for ${ARTICLES.length} articles, ${CUSTOMERS * shops.length} at a time`,
      'without lock',
      'with lock',
    ],
    [
      row('in stock', without, guarded, ({ stocked }) => count(stocked)),
      row('sold', without, guarded, ({ sold }) => count(sold)),
      row('sold although nothing was left', without, guarded, ({ oversold }) => count(oversold)),
      row('still in stock, as the shop counts', without, guarded, ({ available }) => count(available)),
      row('orders answered per second', without, guarded, ({ perSecond }) => count(perSecond)),
      row('time until the answer, p50', without, guarded, ({ latencies }) => time(percentile(latencies, 0.5))),
      row('time until the answer, p99', without, guarded, ({ latencies }) => time(percentile(latencies, 0.99))),
      ['wait for the lock, p50', '-', time(percentile(waited, 0.5))],
      ['wait for the lock, p99', '-', time(percentile(waited, 0.99))],
    ],
  );
  line();
  check(guarded, results);
  results.note('oversold', `${count(without.oversold)} without the lock, ${count(guarded.oversold)} with it`);
  results.note('orders a second', `${count(without.perSecond)} without the lock, ${count(guarded.perSecond)} with it`);
  results.note('wait for the lock', `p50 ${time(percentile(waited, 0.5))}, p99 ${time(percentile(waited, 0.99))}`);
}

function check({ answers, stocks, placed, sold, stocked }, results) {
  const others = answers.filter(({ status }) => status !== PLACED && status !== SOLD_OUT);
  results.check(
    'With the lock, every order was answered: placed or sold out.',
    others.length === 0 && answers.length === ORDERS,
    `${others.length} were not, such as one with ${others[0]?.status}`,
  );
  const wrong = stocks.filter((stock) => stock.sold !== IN_STOCK || stock.available !== 0);
  results.check(
    'With the lock, the shop sold exactly what was in stock of each article.',
    wrong.length === 0 && placed === stocked,
    wrong.length === 0
      ? `${placed} orders were confirmed and ${sold} recorded`
      : wrong.map((stock) => `${stock.sku}: ${stock.sold} of ${IN_STOCK}`).join(', '),
  );
}

async function sell(shops, route) {
  await Promise.all(ARTICLES.map((sku) => shops[0].ask('PUT', `/stock/${sku}`, { quantity: IN_STOCK })));
  const began = performance.now();
  const answers = await order(shops, route, ARTICLES, ORDERS);
  const took = performance.now() - began;
  const stocks = await Promise.all(ARTICLES.map((sku) => shops[0].ask('GET', `/stock/${sku}`)));
  const stocked = IN_STOCK * ARTICLES.length;
  return {
    answers,
    stocks,
    stocked,
    placed: answers.filter(({ status }) => status === PLACED).length,
    sold: sum(stocks, ({ sold }) => sold),
    oversold: sum(stocks, ({ sold }) => Math.max(0, sold - IN_STOCK)),
    available: sum(stocks, ({ available }) => available),
    perSecond: answers.length / (took / 1000),
    latencies: answers.map(({ latency }) => latency),
  };
}

/** Customers that order one piece after another, of one article after another, until all orders are placed. */
async function order(shops, route, articles, orders) {
  const answers = [];
  let next = 0;
  const agent = new Agent({ keepAlive: true });
  const customer = async (shop) => {
    while (next < orders) {
      const body = { sku: articles[next++ % articles.length], quantity: 1 };
      const asked = performance.now();
      const { status } = await shop.call('POST', `/orders/${route}`, body, { agent });
      answers.push({ status, latency: performance.now() - asked });
    }
  };
  try {
    await Promise.all(shops.flatMap((shop) => Array.from({ length: CUSTOMERS }, () => customer(shop))));
    return answers;
  } finally {
    agent.destroy();
  }
}

const row = (label, without, guarded, format) => [label, format(without), format(guarded)];
const sum = (items, value) => items.reduce((total, item) => total + value(item), 0);
