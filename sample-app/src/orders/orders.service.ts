import { setTimeout as sleep } from 'node:timers/promises';
import { ConflictException, Injectable } from '@nestjs/common';
import { DistributedLock } from 'nestjs-redis-locks';
import { StockService } from '../stock/stock.service.js';
import type { Order, Receipt } from './order.js';

/** How long the customer's card is looked at, in ms. */
const CARD_CHECK = 2;

@Injectable()
export class OrdersService {
  constructor(private readonly stock: StockService) {}

  /** Oversells: between the reading of the stock and the writing, other orders read it, too. */
  placeUnguarded(order: Order): Promise<Receipt> {
    return this.place(order);
  }

  /** One order at a time for each article, in all processes; orders for different articles do not wait for each other. */
  @DistributedLock({ key: 'stock:#{#order.sku}' })
  placeGuarded(order: Order): Promise<Receipt> {
    return this.place(order);
  }

  private async place({ sku, quantity }: Order): Promise<Receipt> {
    const available = await this.stock.available(sku);
    if (available < quantity) throw new ConflictException(`${sku} is sold out`);
    await sleep(CARD_CHECK);

    const remaining = available - quantity;
    await this.stock.setAvailable(sku, remaining);
    await this.stock.recordSale(sku, quantity);
    return { sku, quantity, remaining };
  }
}
