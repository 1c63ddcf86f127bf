/** The facts of this installation that the documentation shows. */
import type { Services } from '../../services/services.ts'
import { getKeyVariable } from '../../setup/client-setup.ts'
import { chooseModels } from '../../setup/client-setups.ts'
import type { DocsFacts } from './docs-page.ts'

export function createDocsFacts(services: Services): DocsFacts {
  const { origins, names, config, products } = services
  const key = `${names.keyPrefix}…`
  const model = { id: 'auto', name: 'Auto', contextLength: 128_000, maxOutputTokens: 16_000, images: false }
  const models = chooseModels(products.all) ?? { main: model, fast: model, others: [], hasSearch: false }
  const setup = { apiUrl: origins.base, slug: names.slug, serviceName: config.brand.name, key, ...models }
  return { services, site: origins.site, base: `${origins.base}/v1`, keyVariable: getKeyVariable(setup), key, setup }
}
