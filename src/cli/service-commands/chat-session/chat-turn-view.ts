/** Shows one turn of `svc chat`, for a single question and for each turn of a conversation. */
import type { Context } from '../../context.ts'
import { sanitizeText } from '../../terminal/sanitize-text.ts'
import { createAnswerPrinter } from './answer-printer.ts'
import type { ChatMessage, TurnResult } from './chat-turn.ts'
import { streamTurn } from './chat-turn.ts'
import { searchDocumentPrefix, formatSearchResult, parseSearchDocument } from './search-result.ts'
import type { Credential, Site } from '../client/site.ts'

/** The options that all turns of one command share. */
export interface ChatSession {
  readonly site: Site
  readonly credential: Credential
  readonly model: string
  readonly system: string | undefined
  readonly raw: boolean
  readonly stream: boolean
}

export function toSystemMessages({ system }: ChatSession): readonly ChatMessage[] {
  return system === undefined ? [] : [{ role: 'system', content: system }]
}

/** Streams one answer to standard output; with `--json` each chunk is one line. After a failure a line feed ends the partial answer. */
export async function streamAndPrintTurn(
  context: Context,
  session: ChatSession,
  messages: readonly ChatMessage[],
  signal?: AbortSignal,
): Promise<TurnResult> {
  const printer = context.json ? undefined : createAnswerPrinter(context, session.raw)
  // A search product answers with one JSON document in one chunk; it is shown as text.
  let bufferedDocument = ''
  const stopProgress = context.showProgress({
    en: `Waiting for ${sanitizeText(session.model)} …`,
    zh: `正在等待 ${sanitizeText(session.model)} …`,
  })
  try {
    const result = await streamTurn(
      context,
      session.site,
      session.credential,
      { model: session.model, messages, ...(signal === undefined ? {} : { signal }) },
      {
        onText(text) {
          stopProgress()
          if (printer === undefined) context.printEvent({ event: 'delta', text })
          else if (!session.raw && (bufferedDocument !== '' || text.startsWith(searchDocumentPrefix))) bufferedDocument += text
          else printer.push(text)
        },
        onReasoning(text) {
          if (context.stdout.styled && !session.raw) stopProgress()
          if (printer === undefined) context.printEvent({ event: 'reasoning', text })
          else printer.pushReasoning(text)
        },
      },
    )
    const searchDocument = bufferedDocument === '' ? undefined : parseSearchDocument(bufferedDocument)
    if (searchDocument === undefined) {
      printer?.push(bufferedDocument)
      return result
    }
    context.stdout.write(`${formatSearchResult(context, searchDocument)}\n`)
    // The next question refers to the text that the user read, not to the document behind it.
    return { ...result, text: formatSearchResult(context, searchDocument, false) }
  } finally {
    stopProgress()
    printer?.end()
  }
}

/** Reports below the answer why it is shorter than the model meant it. */
export function printCutNote(context: Context, { finish_reason }: TurnResult): void {
  if (finish_reason === 'length')
    context.printNote({ en: '(cut: the answer reached its longest length)', zh: '（回答已达长度上限，被截断）' })
  if (finish_reason === 'content_filter') context.printNote({ en: '(cut: the content policy)', zh: '（回答因内容政策被截断）' })
}
