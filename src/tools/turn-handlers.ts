/** The handlers of turns: the product's capability selects the one that answers. */
import type { TurnHandler } from '../exchange/plugins/plugin-chain.ts'
import { answerChatSearch } from './search/search-answer.ts'
import { EmbeddingService } from './embeddings/embedding-service.ts'
import { ImageGenerator } from './images/image-generator.ts'
import { SearchService } from './search/search-service.ts'
import type { Services } from '../services/services.ts'
import type { Forwarder } from '../upstream/forward.ts'

export class TurnHandlers {
  readonly search: SearchService
  readonly imageGenerator: ImageGenerator
  readonly #embeddings: EmbeddingService
  readonly #forwarder: Forwarder

  constructor(services: Services, forwarder: Forwarder) {
    this.search = new SearchService(services, forwarder)
    this.imageGenerator = new ImageGenerator(services, forwarder)
    this.#embeddings = new EmbeddingService(services, forwarder)
    this.#forwarder = forwarder
  }

  /** Handles a chat. */
  readonly chat: TurnHandler = (x, wire) => {
    if (x.product?.capabilities.includes('search') === true) return answerChatSearch(this.search, x, wire)
    if (x.product?.capabilities.includes('image') === true) return this.imageGenerator.generateForChat(x, wire)
    return this.#forwarder.call(x, wire)
  }

  /** Handles an image by the images API. */
  readonly images: TurnHandler = (x, wire) => this.imageGenerator.generateForImagesApi(x, wire)

  /** Handles a request of the embeddings API. */
  readonly embeddings: TurnHandler = (x, wire) => this.#embeddings.embed(x, wire)

  async close(): Promise<void> {
    await this.search.close()
    await this.imageGenerator.close()
    await this.#embeddings.close()
  }
}
