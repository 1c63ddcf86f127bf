/** Programs and SDKs that have a page in the documentation. */
import { clientEntries } from '../../setup/client-setups.ts'

export function listTools(): readonly { readonly path: string; readonly name: string }[] {
  return clientEntries.map(({ id, name }) => ({ path: `/docs/tools/${id}`, name }))
}
