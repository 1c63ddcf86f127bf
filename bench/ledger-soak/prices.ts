/** The run's prices of cached input, in dollars per million tokens. */
export const cachedPrices = { light: 0.014, flagship: 0.044 } as const
