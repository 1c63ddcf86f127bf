import type { Context } from '../context.ts'
import { terminalText } from '../terminal-text.ts'
import { answerPrinter } from './answer-printer.ts'
import type { Message, TurnResult } from './chat-turn.ts'
import { streamTurn } from './chat-turn.ts'
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
  const done = context.progress({ en: `Waiting for ${terminalText(talk.model)} …`, zh: `正在等待 ${terminalText(talk.model)} …` })
  try {
    return await streamTurn(
      context,
      talk.site,
      talk.credential,
      { model: talk.model, messages, ...(signal === undefined ? {} : { signal }) },
      (text) => {
        done()
        if (printer === undefined) context.event({ event: 'delta', text })
        else printer.push(text)
      },
    )
  } finally {
    done()
    printer?.end()
  }
}
