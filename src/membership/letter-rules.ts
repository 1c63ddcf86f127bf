/**
 * Which letters may be sent, and how often the code in one may be guessed.
 *
 * A letter counts until it is used or as old as the span it is counted in, and its link is good for exactly as long. So whoever makes us
 * send all the letters an address may get has put as many good links into its owner's mailbox: where no letter can be sent, one that opens
 * has been. A client that has sent its share to an address leaves the others theirs, and known devices have letters of their own.
 *
 * A code's tries are set aside when it is sent: all live codes' tries and all wrong guesses of the span before are at most `code-tries`
 * together, for strangers and for known devices each. A code that was sent keeps its tries, whoever asks for more of them; where none are
 * left, the letter has its link alone.
 */
import type { AllowanceTable } from './allowances.ts'
import type { Allowance } from './counters.ts'
import { codeLifeMs, codeTries } from './mail-code.ts'
import type { LetterVerdict, NewLetter, SentLetter } from './mail-code.ts'

/** How far back letters are looked at, and so kept. */
export function lettersCountFor(table: AllowanceTable): number {
  const spans = allowancesOf(table).map(({ withinMs }) => withinMs)
  return Math.max(...spans, table['code-tries'].withinMs + codeLifeMs)
}

/** How long a link is good. */
export function linkLifeMs(table: AllowanceTable): number {
  return table['code-by-address'].withinMs
}

/** `recent` are the letters to the same mailbox or from the same network. */
export function judgeLetter(
  letter: Pick<NewLetter, 'mailbox' | 'network' | 'known' | 'at'>,
  recent: readonly SentLetter[],
  table: AllowanceTable,
): LetterVerdict {
  const { network, known, at } = letter
  const toMailbox = recent.filter((sent) => sent.mailbox === letter.mailbox && sent.known === known)
  const byClient = toMailbox.filter((sent) => known || sent.network === network)
  const unused = (letters: readonly SentLetter[]) => letters.filter(({ used }) => !used)
  const waits = known
    ? [freeAt(byClient, table['code-resend'], at), freeAt(unused(toMailbox), table['code-by-device'], at)]
    : [
        freeAt(byClient, table['code-resend'], at),
        freeAt(unused(byClient), table['code-by-network-and-address'], at),
        freeAt(unused(toMailbox), table['code-by-address'], at),
        freeAt(unused(recent.filter((sent) => !sent.known && sent.network === network)), table['code-by-network'], at),
      ]
  const until = Math.max(...waits)
  return until > at ? { kind: 'wait', until } : { kind: 'send', tries: triesLeft(toMailbox, table['code-tries'], at) }
}

/** When one more may be sent; 0 for at once. */
function freeAt(letters: readonly SentLetter[], { times, withinMs }: Allowance, now: number): number {
  const ends = letters
    .map(({ at }) => at + withinMs)
    .filter((end) => end > now)
    .toSorted((a, b) => b - a)
  return ends[times - 1] ?? 0
}

function triesLeft(letters: readonly SentLetter[], { times, withinMs }: Allowance, now: number): number {
  const spent = letters
    // A guess of this code may have been made as late as its code ended.
    .filter(({ at }) => at + codeLifeMs + withinMs > now)
    .reduce((sum, { at, tries, attempts, replaced }) => sum + (replaced || at + codeLifeMs <= now ? attempts : tries), 0)
  return Math.max(0, Math.min(codeTries, times - spent))
}

function allowancesOf(table: AllowanceTable): Allowance[] {
  const names = ['code-by-network', 'code-by-network-and-address', 'code-by-address', 'code-by-device', 'code-resend'] as const
  return names.map((name) => table[name])
}
