/**
 * Parses long bodies in one thread and very long ones in another, so that a request of a few hundred kilobytes does not wait for the
 * megabytes of another member.
 *
 * Gain: beside two members who send 20 MB without pause, a body of 200 KiB waits for others of at most `maxMediumBytes`. It can be deleted
 * together with the parser's thread.
 */
import type { AnalyzedChat, BodyParser, ChatExtension, TranslationRequest } from './body-parser.ts'

export const maxMediumBytes = 1024 * 1024

export class SizedBodyParser implements BodyParser {
  readonly #medium: BodyParser
  readonly #large: BodyParser

  constructor({ medium, large }: { readonly medium: BodyParser; readonly large: BodyParser }) {
    this.#medium = medium
    this.#large = large
  }

  parse(
    chunks: readonly Buffer[],
    member: string,
    onDisconnect: (listener: () => void) => void,
    translation: TranslationRequest | null = null,
  ): Promise<AnalyzedChat> {
    const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
    return this.#choose(bytes).parse(chunks, member, onDisconnect, translation)
  }

  extend(
    chat: AnalyzedChat,
    extension: ChatExtension,
    member: string,
    onDisconnect: (listener: () => void) => void,
  ): Promise<AnalyzedChat> {
    return this.#choose(chat.bytes).extend(chat, extension, member, onDisconnect)
  }

  #choose(bytes: number): BodyParser {
    return bytes <= maxMediumBytes ? this.#medium : this.#large
  }

  abortAll(reason: Error): void {
    this.#medium.abortAll(reason)
    this.#large.abortAll(reason)
  }

  async close(): Promise<void> {
    await Promise.all([this.#medium.close(), this.#large.close()])
  }
}
