/** What stands behind a turn: which call answers it depends on what the product is for. */
import type { Call } from '../exchange/run.ts'
import { chatSearch } from '../tools/search/completion.ts'
import { Painter } from '../tools/images/paint.ts'
import { Search } from '../tools/search/search.ts'
import type { Services } from './services.ts'
import type { Forwarder } from '../upstream/forward.ts'

export class Calls {
  readonly search: Search
  readonly painter: Painter
  readonly #forwarder: Forwarder

  constructor(services: Services, forwarder: Forwarder) {
    this.search = new Search(services, forwarder)
    this.painter = new Painter(services, forwarder)
    this.#forwarder = forwarder
  }

  /** The call of a chat. */
  readonly chat: Call = (x, wire) => {
    if (x.product?.capabilities.includes('search') === true) return chatSearch(this.search, x, wire)
    if (x.product?.capabilities.includes('image') === true) return this.painter.chat(x, wire)
    return this.#forwarder.call(x, wire)
  }

  /** The call of a picture by the images API. */
  readonly pictures: Call = (x, wire) => this.painter.pictures(x, wire)

  async close(): Promise<void> {
    await this.search.close()
    await this.painter.close()
  }
}
