import { Body, Controller, Get, Param, ParseIntPipe, Put } from '@nestjs/common';
import { StockService, type StockReport } from './stock.service.js';

@Controller('stock')
export class StockController {
  constructor(private readonly stock: StockService) {}

  @Get(':sku')
  report(@Param('sku') sku: string): Promise<StockReport> {
    return this.stock.report(sku);
  }

  @Put(':sku')
  restock(@Param('sku') sku: string, @Body('quantity', ParseIntPipe) quantity: number): Promise<StockReport> {
    return this.stock.restock(sku, quantity);
  }
}
