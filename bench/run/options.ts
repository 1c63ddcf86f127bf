/** The words of the command. */
import { parseArgs } from 'node:util'
import type { Wanted } from './cast.ts'
import { peersIn, portkeyIn } from './peers.ts'
import type { Wish } from './plan.ts'
import { Refused } from './refused.ts'
import { shapes } from './subject.ts'
import type { Shape } from './subject.ts'

export interface Options extends Omit<Wish, 'subjects'>, Omit<Wanted, 'against'> {
  readonly against: string | null
  readonly only: readonly string[]
  /** Whether a busy machine is measured on. */
  readonly anyway: boolean
}

const everybody = ['direct', 'nginx', 'bare', 'peers', 'no-ledger', 'gateway', 'with', 'against'] as const

const help = `npm run bench -- [options]

  --quick               a first look, in less than two minutes
  --against COMMIT      this checkout beside another commit, paired
  --with NAME=VALUE     this checkout beside itself with that in its environment, paired; again for more
  --portkey FOLDER      beside @portkey-ai/gateway, installed there (or PORTKEY=FOLDER)
  --peers FILE          beside other gateways: README.md says what stands in it
  --only LIST           of ${everybody.join(', ')}
  --minutes N           how long it may take; rounds are as many as fit (25; --quick 1.9, --against 10)
  --seconds N           of one measurement, whole (4; --quick 2, --against 3)
  --warm N              turns of each shape before the first measurement, each (25000)
  --warm-seconds N      for all these at most (60; --quick 6, --against 50)
  --clients LIST        that ask again as soon as they are answered (1,16,64,256; --quick and --against 64)
  --accounts LIST       that the turns belong to, in turn (1,10000; --quick 1)
  --shapes LIST         of ${shapes.join(', ')} (all; --quick and --against without joined)
  --rate N              turns a second of the open loop (200); 0 leaves it out
  --anyway              measures on a busy machine too, and marks the figures
  --prof                a CPU profile of the gateway, in bench/profiles
`

/** Shows the help and ends where that is asked for. @throws where a word is not understood */
export function optionsOf(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      help: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      against: { type: 'string' },
      with: { type: 'string', multiple: true, default: [] },
      portkey: { type: 'string' },
      peers: { type: 'string' },
      only: { type: 'string' },
      minutes: { type: 'string' },
      seconds: { type: 'string' },
      warm: { type: 'string', default: '25000' },
      'warm-seconds': { type: 'string' },
      clients: { type: 'string' },
      accounts: { type: 'string' },
      shapes: { type: 'string' },
      rate: { type: 'string', default: '200' },
      anyway: { type: 'boolean', default: false },
      prof: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    process.exit(0)
  }
  const { quick } = values
  const isPaired = values.against !== undefined || values.with.length > 0
  const portkey = values.portkey ?? process.env['PORTKEY']
  return {
    against: values.against ?? null,
    variants: values.with,
    peers: [...(portkey === undefined ? [] : [portkeyIn(portkey)]), ...(values.peers === undefined ? [] : peersIn(values.peers))],
    only: chosen(
      'only',
      values.only ?? (isPaired ? 'bare,gateway,with,against' : quick ? 'direct,bare,gateway' : everybody.join(',')),
      everybody,
    ),
    minutes: number('minutes', values.minutes ?? (quick ? '1.9' : isPaired ? '10' : '25')),
    seconds: whole('seconds', values.seconds ?? (quick ? '2' : isPaired ? '3' : '4')),
    warmTurns: number('warm', values.warm),
    warmSeconds: number('warm-seconds', values['warm-seconds'] ?? (quick ? '6' : isPaired ? '50' : '60')),
    clients: wholes('clients', values.clients ?? (quick || isPaired ? '64' : '1,16,64,256')),
    accounts: wholes('accounts', values.accounts ?? (quick ? '1' : '1,10000')),
    shapes: chosen<Shape>('shapes', values.shapes ?? (quick || isPaired ? 'whole,streamed' : shapes.join(',')), shapes),
    rate: number('rate', values.rate),
    anyway: values.anyway,
    flags: values.prof ? ['--cpu-prof', '--cpu-prof-dir=bench/profiles'] : [],
  }
}

function chosen<Choice extends string>(name: string, list: string, choices: readonly Choice[]): readonly Choice[] {
  return list.split(',').map((word) => {
    const found = choices.find((choice) => choice === word.trim())
    if (found === undefined) throw new Refused(`--${name} takes ${choices.join(', ')}, not '${word}'.`)
    return found
  })
}

function wholes(name: string, list: string): readonly number[] {
  return list.split(',').map((word) => whole(name, word))
}

function whole(name: string, word: string): number {
  const value = number(name, word)
  if (!Number.isInteger(value) || value < 1) throw new Refused(`--${name} takes whole numbers from 1, not '${word}'.`)
  return value
}

function number(name: string, word: string): number {
  const value = Number(word)
  if (word.trim() === '' || !(value >= 0)) throw new Refused(`--${name} takes a number, not '${word}'.`)
  return value
}
