/** The shipped configuration, sold through EPay: `GATEWAY_CONFIG=examples/payments/epay/epay.config.ts npm start`. */
import base from 'svc-gateway/gateway.config.js'
import { defineGateway, env } from 'svc-gateway'

const month = (amount: number) => ({ amount, currency: 'CNY' })
const year = (amount: number) => ({ amount, currency: 'CNY', interval: 'year' as const })
const prices: Readonly<Record<string, (ReturnType<typeof month> | ReturnType<typeof year>)[]>> = {
  pro: [month(49), year(490)],
  max: [month(99), year(990)],
}

export default defineGateway({
  ...base,
  // A plan without a price here is free, and is not sold.
  plans: Object.fromEntries(Object.entries(base.plans).map(([id, plan]) => [id, { ...plan, prices: prices[id] ?? [month(0)] }])),
  packs: [{ id: 'small', credits: 500_000, pool: 'premium', prices: [month(19)], days: 365 }],
  payments: {
    providers: {
      epay: {
        module: './examples/payments/epay/epay.ts',
        options: { url: env.text('EPAY_URL'), pid: env.text('EPAY_PID'), key: env.secret('EPAY_KEY') },
      },
    },
  },
})
