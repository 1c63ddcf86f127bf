/** One turn of `svc chat` as it is shown, for a single question and for each turn of a dialogue. */
import type { Context } from '../context.ts'
import { terminalText } from '../terminal-text.ts'
import { answerPrinter } from './answer-printer.ts'
import type { Message, TurnResult } from './chat-turn.ts'
import { streamTurn } from './chat-turn.ts'
import { documentStart, foundText, searchDocument } from './found-text.ts'
import type { Credential, Site } from './site.ts'

/** What all turns of one command share. */
export interface Talk {
  readonly site: Site
  readonly credential: Credential
  readonly model: string
  readonly system: string | undefined
  readonly raw: boolean
  readonly stream: boolean
}

export function systemMessage({ system }: Talk): readonly Message[] {
  return system === undefined ? [] : [{ role: 'system', content: system }]
}

/** Streams one answer to standard output; with `--json` each piece is one line. A failure leaves what was printed on a line of its own. */
export async function streamOnce(
  context: Context,
  talk: Talk,
  messages: readonly Message[],
  signal?: AbortSignal,
): Promise<TurnResult> {
  const printer = context.json ? undefined : answerPrinter(context, talk.raw)
  // A search product answers with a document. It comes in one piece, and is shown as what it says.
  let held = ''
  const done = context.progress({ en: `Waiting for ${terminalText(talk.model)} …`, zh: `正在等待 ${terminalText(talk.model)} …` })
  try {
    const result = await streamTurn(
      context,
      talk.site,
      talk.credential,
      { model: talk.model, messages, ...(signal === undefined ? {} : { signal }) },
      (text) => {
        done()
        if (printer === undefined) context.event({ event: 'delta', text })
        else if (!talk.raw && (held !== '' || text.startsWith(documentStart))) held += text
        else printer.push(text)
      },
    )
    const found = held === '' ? undefined : searchDocument(held)
    if (found === undefined) {
      printer?.push(held)
      return result
    }
    context.stdout.write(`${foundText(context, found)}\n`)
    // What is asked next refers to what was read, not to the document behind it.
    return { ...result, text: foundText(context, found, false) }
  } finally {
    done()
    printer?.end()
  }
}
