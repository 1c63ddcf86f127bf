/**
 * The two files of `svc-gateway init`: a configuration that imports the shipped one, and an environment file. A second run replaces the marked
 * part of the first and the known variables of the other; everything else in them is the operator's and stays.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { z } from 'zod'
import { createFolder } from '../../../system/data-folder/create-folder.ts'
import { OperatorError, describeSystemError } from '../../../system/operator-error.ts'
import { parseJson } from '../../../system/parse-json.ts'
import { assertPlainValue, defaultAnswers, secretVariables, variables } from './setup-answers.ts'
import type { ConfigAnswers, SetupAnswers } from './setup-answers.ts'

const [begin, end] = ['// Answers of svc-gateway init, which writes them anew:', '// End of the answers.']
const answersSchema = z.object({
  currency: z.string(),
  plans: z.record(z.string(), z.number()),
  provider: z.object({ name: z.string(), issuer: z.string(), clientId: z.string() }).nullable(),
}) satisfies z.ZodType<ConfigAnswers>

/** Null where there is no such file. @throws OperatorError */
export function readSetupFile(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new OperatorError(`${file} cannot be read: ${describeSystemError(error)}.`, { cause: error })
  }
}

/** The answers of an earlier run. @throws OperatorError where the files are of another origin */
export function readAnswers(config: string | null, environment: string | null): SetupAnswers {
  const values = parseEnv(environment ?? '')
  const fromEnvironment = Object.fromEntries(
    Object.entries(variables).map(([answer, variable]) => [answer, values[variable] ?? null]),
  ) as Pick<SetupAnswers, keyof typeof variables>
  return { ...defaultAnswers, ...fromEnvironment, ...(config === null ? {} : parseConfigAnswers(config)) }
}

function parseConfigAnswers(config: string): ConfigAnswers {
  const [from, to] = [config.indexOf(begin), config.indexOf(end)]
  const refusal = new OperatorError(
    'The configuration file is not one of svc-gateway init, or its marked part was changed. Name another folder, or correct that part.',
  )
  if (from === -1 || to < from) throw refusal
  const literal = config.slice(config.indexOf('{', from), config.lastIndexOf('}', to) + 1)
  try {
    return answersSchema.parse(parseJson(literal))
  } catch {
    throw refusal
  }
}

/** @param earlier the file as it is; its own parts stay */
export function renderConfig({ currency, plans, provider }: SetupAnswers, earlier: string | null): string {
  const part = `${begin}\nconst answers = ${JSON.stringify({ currency, plans, provider }, null, 2)}\n${end}`
  if (earlier === null) return createConfig(part)
  return earlier.slice(0, earlier.indexOf(begin)) + part + earlier.slice(earlier.indexOf(end) + end.length)
}

function createConfig(part: string): string {
  return `// The configuration of this installation. What it does not change is as in the shipped one, which documents every setting.
import base from 'svc-gateway/gateway.config.js'
import { defineGateway, env } from 'svc-gateway'

${part}

const { free, ...others } = base.plans
const plans = Object.entries(others).flatMap(([id, plan]) => {
  const amount = answers.plans[id]
  return amount === undefined ? [] : [[id, { ...plan, prices: plan.prices.map((price) => ({ ...price, amount, currency: answers.currency })) }]]
})

export default defineGateway({
  ...base,
  plans: { free: { ...free, prices: [{ amount: 0, currency: answers.currency }] }, ...Object.fromEntries(plans) },
  signIn: {
    ...base.signIn,
    providers: answers.provider === null ? {} : { main: { ...answers.provider, clientSecret: env.secret('${variables.clientSecret}') } },
  },
})
`
}

/** @param fixed variables that no question is about, such as paths; an earlier value of them stays */
export function renderEnvironment(
  answers: SetupAnswers,
  earlier: string | null,
  fixed: Readonly<Record<string, string>>,
): string {
  const knownVariables = parseEnv(earlier ?? '')
  const values = new Map<string, string | null>([
    ...Object.entries(fixed).map(([name, value]): [string, string] => [name, knownVariables[name] ?? value]),
    ...Object.entries(variables).map(([answer, name]): [string, string | null] => [
      name,
      answers[answer as keyof typeof variables],
    ]),
  ])
  for (const [name, value] of values) if (value !== null) assertPlainValue(name, value)
  const lines = (earlier ?? '# The environment of svc-gateway. It holds secrets.\n').split('\n').flatMap((line) => {
    const name = /^\s*([A-Za-z_]\w*)\s*=/.exec(line)?.[1] ?? ''
    if (!values.has(name)) return [line]
    const value = values.get(name) ?? null
    values.delete(name)
    return value === null ? [] : [`${name}=${value}`]
  })
  const addedLines = [...values].flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]))
  return `${[...lines.filter((line, i) => line !== '' || i < lines.length - 1), ...addedLines].join('\n')}\n`
}

/** For people: with `…` for each secret, and whether it differs from the earlier one. */
export function maskSecrets(environment: string, other: string | null, note: string): string {
  const others = parseEnv(other ?? '')
  return environment.replaceAll(/^(\s*#?\s*([A-Za-z_]\w*)\s*=)(.*)$/gm, (line, prefix: string, name: string, value: string) => {
    if (!secretVariables.has(name) && !/KEY|SECRET|TOKEN|PASSWORD|_URL$/.test(name)) return line
    if (name === variables.siteUrl || (name === variables.upstreamUrl && !value.includes('@'))) return line
    return `${prefix}…${others[name] === undefined || others[name] === value.trim() ? '' : ` (${note})`}`
  })
}

/** @throws OperatorError */
export function createSetupFolder(folder: string, mode: number): void {
  try {
    createFolder(folder, mode)
  } catch (error) {
    throw new OperatorError(`The folder ${folder} cannot be created: ${describeSystemError(error)}.`, { cause: error })
  }
}

/** Replaces the file as a whole. @throws OperatorError */
export function writeSetupFile(file: string, content: string, mode: number): void {
  const next = `${file}.new`
  try {
    rmSync(next, { force: true })
    writeFileSync(next, content, { mode, flag: 'wx' })
    renameSync(next, file)
  } catch (error) {
    rmSync(next, { force: true })
    throw new OperatorError(`${file} cannot be written: ${describeSystemError(error)}.`, { cause: error })
  }
}
