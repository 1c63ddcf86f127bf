/** What the ledger is compared with: the same chain, in which nothing is held, settled or given back. */
import { definePlugin, defineGateway, promptSize } from 'svc-gateway'
import measured from './gateway.config.ts'

const unheld = definePlugin({
  name: 'unheld',
  needs: ['caller', 'chat', 'product'],
  gives: ['hold'],
  on: 'turn',
  onRequest(x, { config }) {
    const { chat, product } = x
    const outputCap = Math.min(chat.maxTokens ?? product.defaultOutputTokens, product.maxOutputTokens)
    x.hold = { id: 0, credits: 0, inputEstimate: promptSize(chat, config.limits.imageTokens).tokens, outputCap }
  },
})

export default defineGateway({
  ...measured,
  plugins: measured.plugins
    .filter(({ name }) => name !== 'refund')
    .map((plugin) => (plugin.name === 'quota-reserve' ? unheld : plugin)),
})
