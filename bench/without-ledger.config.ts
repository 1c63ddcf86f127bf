/** The ledger's reference: the same plugin chain without holds, settlements and refunds. */
import { definePlugin, defineGateway, getMediaFigures, measurePrompt } from 'svc-gateway'
import measured from './gateway.config.ts'

const skipHold = definePlugin({
  name: 'unheld',
  needs: ['caller', 'chat', 'product'],
  gives: ['hold'],
  on: 'turn',
  onRequest(x, { config }) {
    const { chat, product } = x
    const outputCap = Math.min(chat.maxTokens ?? product.defaultOutputTokens, product.maxOutputTokens)
    x.hold = { id: 0, credits: 0, inputEstimate: measurePrompt(chat, getMediaFigures(product, config.limits)).tokens, outputCap }
  },
})

export default defineGateway({
  ...measured,
  plugins: measured.plugins
    .filter(({ name }) => name !== 'refund')
    .map((plugin) => (plugin.name === 'quota-reserve' ? skipHold : plugin)),
})
