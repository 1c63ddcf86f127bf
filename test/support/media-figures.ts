import { defaultProductMedia } from '../../src/domain/billing/catalog/product.ts'
import { getMediaFigures } from '../../src/exchange/request/prompt-size.ts'

/** The figures of a product that configures none. */
export const defaultMediaFigures = getMediaFigures({ media: defaultProductMedia }, { imageTokens: 1_100 })
