/** The command's options. */
import { parseArgs } from 'node:util'
import type { SubjectSelection } from './subjects/subjects.ts'
import { readPeers, createPortkeyPeer } from './subjects/peers.ts'
import type { RunRequest } from './plan.ts'
import { BenchError } from './errors.ts'
import { shapes } from './subjects/subject.ts'
import type { Shape } from './subjects/subject.ts'

export interface Options extends Omit<RunRequest, 'subjects'>, Omit<SubjectSelection, 'against'> {
  readonly against: string | null
  readonly only: readonly string[]
  /** Whether to measure on a busy machine. */
  readonly anyway: boolean
}

const subjectIds = [
  'direct',
  'nginx',
  'bare',
  'peers',
  'no-ledger',
  'gateway',
  'responses',
  'messages',
  'with',
  'against',
] as const

const help = `npm run bench -- [options]

  --quick               a first look, in less than two minutes
  --against COMMIT      this checkout beside another commit, paired
  --short               with --against or --with, for CPU time alone: two starts of each, all under load at once; 2.5 minutes
  --with NAME=VALUE     this checkout beside itself with that in its environment, paired; again for more
  --portkey FOLDER      beside @portkey-ai/gateway, installed there (or PORTKEY=FOLDER)
  --peers FILE          beside other gateways: README.md says what stands in it
  --only LIST           of ${subjectIds.join(', ')}
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

/** Prints the help and exits if requested. @throws for an unknown option */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      against: { type: 'string' },
      short: { type: 'boolean', default: false },
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
      rate: { type: 'string' },
      anyway: { type: 'boolean', default: false },
      prof: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(help)
    process.exit(0)
  }
  const { quick, short } = values
  const isPaired = values.against !== undefined || values.with.length > 0
  if (short && !isPaired) throw new BenchError('--short compares two programs: it needs --against or --with.')
  const portkey = values.portkey ?? process.env['PORTKEY']
  return {
    against: values.against ?? null,
    variants: values.with,
    peers: [
      ...(portkey === undefined ? [] : [createPortkeyPeer(portkey)]),
      ...(values.peers === undefined ? [] : readPeers(values.peers)),
    ],
    only: parseChoices(
      'only',
      values.only ??
        (short
          ? 'gateway,with,against'
          : isPaired
            ? 'bare,gateway,with,against'
            : quick
              ? 'direct,bare,gateway,responses,messages'
              : subjectIds.join(',')),
      subjectIds,
    ),
    minutes: parseNumber('minutes', values.minutes ?? (short ? '2.5' : quick ? '1.9' : isPaired ? '10' : '25')),
    seconds: parseInteger('seconds', values.seconds ?? (short ? '1' : quick ? '2' : isPaired ? '3' : '4')),
    warmTurns: parseNumber('warm', values.warm),
    warmSeconds: parseNumber('warm-seconds', values['warm-seconds'] ?? (short ? '40' : quick ? '6' : isPaired ? '50' : '60')),
    clients: parseIntegers('clients', values.clients ?? (quick || isPaired ? '64' : '1,16,64,256')),
    accounts: parseIntegers('accounts', values.accounts ?? (quick || short ? '1' : '1,10000')),
    shapes: parseChoices<Shape>('shapes', values.shapes ?? (quick || isPaired ? 'whole,streamed' : shapes.join(',')), shapes),
    rate: parseNumber('rate', values.rate ?? (short ? '0' : '200')),
    together: short,
    // What disturbs one of two programs under load at once disturbs the other as well.
    anyway: values.anyway || short,
    flags: values.prof ? ['--cpu-prof', '--cpu-prof-dir=bench/profiles'] : [],
  }
}

function parseChoices<Choice extends string>(name: string, list: string, choices: readonly Choice[]): readonly Choice[] {
  return list.split(',').map((word) => {
    const found = choices.find((choice) => choice === word.trim())
    if (found === undefined) throw new BenchError(`--${name} takes ${choices.join(', ')}, not '${word}'.`)
    return found
  })
}

function parseIntegers(name: string, list: string): readonly number[] {
  return list.split(',').map((word) => parseInteger(name, word))
}

function parseInteger(name: string, word: string): number {
  const value = parseNumber(name, word)
  if (!Number.isInteger(value) || value < 1) throw new BenchError(`--${name} takes whole numbers from 1, not '${word}'.`)
  return value
}

function parseNumber(name: string, word: string): number {
  const value = Number(word)
  if (word.trim() === '' || !(value >= 0)) throw new BenchError(`--${name} takes a number, not '${word}'.`)
  return value
}
