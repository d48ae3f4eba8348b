/** What a customer wants. */
export interface Order {
  readonly sku: string;
  readonly quantity: number;
}

/** What a customer has been promised. */
export interface Receipt extends Order {
  readonly remaining: number;
}
