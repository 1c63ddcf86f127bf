/** What stands behind a turn: which call answers it depends on what the product is for. */
import type { Call } from './exchange/run.ts'
import { chatSearch } from './search/completion.ts'
import { Search } from './search/search.ts'
import type { Services } from './services.ts'
import type { Forwarder } from './upstream/forward.ts'

export class Calls {
  readonly search: Search
  readonly #forwarder: Forwarder

  constructor(services: Services, forwarder: Forwarder) {
    this.search = new Search(services, forwarder)
    this.#forwarder = forwarder
  }

  /** The call of a chat. */
  readonly chat: Call = (x, wire) => {
    if (x.product?.capabilities.includes('search') === true) return chatSearch(this.search, x, wire)
    return this.#forwarder.call(x, wire)
  }

  close(): Promise<void> {
    return this.search.close()
  }
}
