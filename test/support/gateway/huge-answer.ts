/** Lets an answer have megabytes within its cap: the gateway cuts off an upstream that ignores the cap. */

export const hugeAnswerConfig = {
  products: { 'svc-2.1': { maxOutputTokens: 2_000_000, contextLength: 4_000_000 } },
  prices: { flagship: { input: 0.001, output: 0.001, discountPercent: 75 } },
}

export const hugeCap = { max_tokens: 2_000_000 }
