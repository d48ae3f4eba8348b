import { BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';
import type { Order } from './order.js';

/** Makes an order of a request's body, or refuses it. */
@Injectable()
export class OrderPipe implements PipeTransform<unknown, Order> {
  transform(body: unknown): Order {
    const { sku, quantity } = (body ?? {}) as Partial<Order>;
    if (typeof sku !== 'string' || sku === '') throw new BadRequestException('sku must be a text');
    if (typeof quantity !== 'number' || !Number.isSafeInteger(quantity) || quantity < 1) {
      throw new BadRequestException('quantity must be a whole number, 1 or more');
    }
    return { sku, quantity };
  }
}
