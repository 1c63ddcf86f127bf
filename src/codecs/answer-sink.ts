/** What receives an answer while it is read, in one of two forms; each method returns the frames to forward. */
import type { AnswerEvent } from '../conversation/answer-event.ts'
import type { TemplateSink } from './chat/chunk-template.ts'

export interface AnswerSink extends TemplateSink {
  /** A chunk of a chat completion, with a list of choices. */
  consume(chunk: Record<string, unknown>): string
  /** What an upstream of another API answers, without its usage. */
  push(events: readonly AnswerEvent[]): string
}
