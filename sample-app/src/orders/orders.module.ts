import { Module } from '@nestjs/common';
import { StockModule } from '../stock/stock.module.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';

@Module({
  imports: [StockModule],
  controllers: [OrdersController],
  providers: [OrdersService],
})
export class OrdersModule {}
