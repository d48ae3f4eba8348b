import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity()
export class Stock {
  @PrimaryColumn('text')
  sku!: string;

  @Column('integer')
  quantity!: number;
}
