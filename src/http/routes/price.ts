/** What tokens of a tier cost, as the list of models and the catalogue of plans tell it. */
import type { AnswerOf } from '../../api/endpoint.ts'
import type { showModel } from '../../api/models.ts'
import type { GatewayConfig } from '../../config/config.ts'
import { effectivePrice } from '../../config/products.ts'
import type { Tier } from '../../membership/product.ts'

export function toPrice(config: Pick<GatewayConfig, 'prices'>, tier: Tier): AnswerOf<typeof showModel>['pricing'] {
  const { input, output, discountPercent, effectiveInput, effectiveOutput } = effectivePrice(config, tier)
  return {
    input,
    output,
    discount_percent: discountPercent,
    effective_input: effectiveInput,
    effective_output: effectiveOutput,
    currency: 'USD',
    per: 1_000_000,
  }
}
