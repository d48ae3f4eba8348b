import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { PrismaLibSql } from '@prisma/adapter-libsql';
import { PrismaClient } from './generated/client.js';

@Injectable()
export class Database extends PrismaClient implements OnModuleInit, OnModuleDestroy {
  constructor() {
    super({ adapter: new PrismaLibSql({ url: `file:${process.env['DATABASE'] ?? 'stock.sqlite'}` }) });
  }

  /** Stands for the migrations of an application. */
  async onModuleInit(): Promise<void> {
    await this.$executeRaw`CREATE TABLE IF NOT EXISTS Stock (sku TEXT PRIMARY KEY, quantity INTEGER NOT NULL)`;
  }

  async onModuleDestroy(): Promise<void> {
    await this.$disconnect();
  }
}
