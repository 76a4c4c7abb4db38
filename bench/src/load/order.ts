/** What the scenario `sends` sends: an order with its lines, as an application has it in hand. */
export interface Order {
  order: number;
  customer: string;
  currency: string;
  lines: { sku: string; quantity: number; price: number }[];
}

/** Different ones, whose JSON is the first with at least so many bytes when lines are added one by one. */
export function orders(count: number, bytes: number): Order[] {
  const size = (lines: number): number => JSON.stringify(order(count, lines)).length;
  let lines = 1;
  while (size(lines) < bytes) lines += 1;
  return Array.from({ length: count }, (_, index) => order(index, lines));
}

/** Bytes of the JSON of one of them, on average. */
export function meanBytes(payloads: readonly Order[]): number {
  return payloads.reduce((sum, payload) => sum + JSON.stringify(payload).length, 0) / payloads.length;
}

/** Of the same size whatever its number, which keeps its digits. */
function order(index: number, lines: number): Order {
  const number = 1_000_000 + index;
  return {
    order: number,
    customer: `c-${number}`,
    currency: "EUR",
    lines: Array.from({ length: lines }, (_, line) => ({
      sku: `A-${number + line}`,
      quantity: line + 1,
      price: 19.95,
    })),
  };
}
