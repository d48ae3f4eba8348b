import { EntitySchema } from '@mikro-orm/core';

export interface Stock {
  sku: string;
  quantity: number;
}

export const Stock = new EntitySchema<Stock>({
  name: 'Stock',
  properties: { sku: { type: 'string', primary: true }, quantity: { type: 'number' } },
});
