import { Body, Controller, Post } from '@nestjs/common';
import type { Order, Receipt } from './order.js';
import { OrderPipe } from './order.pipe.js';
import { OrdersService } from './orders.service.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post('unguarded')
  placeUnguarded(@Body(OrderPipe) order: Order): Promise<Receipt> {
    return this.orders.placeUnguarded(order);
  }

  @Post('guarded')
  placeGuarded(@Body(OrderPipe) order: Order): Promise<Receipt> {
    return this.orders.placeGuarded(order);
  }
}
