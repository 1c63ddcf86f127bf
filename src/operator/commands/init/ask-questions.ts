/**
 * The dialogue of `svc-gateway init`: six questions, each with the present answer, which an empty line keeps and `-` removes. A question whose
 * answer cannot work is asked again.
 */
import { isDeepStrictEqual } from 'node:util'
import { OperatorError } from '../../../system/operator-error.ts'
import { formatPlans, parsePlans } from './setup-answers.ts'
import type { SetupAnswers, SetupProvider } from './setup-answers.ts'

/** The operator at a terminal. */
export interface Dialogue {
  print(text: string): void
  /** Resolves with the line. A secret is not shown while it is typed. @throws OperatorError when the input has ended */
  ask(question: string, options?: { readonly isSecret?: boolean }): Promise<string>
}

interface QuestionHelpers {
  /** The models that the upstream lists, or the reason why they are not known. */
  readonly listModels: (answers: SetupAnswers) => Promise<readonly string[] | string>
  /** Why the configuration cannot work with these answers; null: it can. */
  readonly findFault: (answers: SetupAnswers) => Promise<string | null>
}

const maxShownModels = 40

export async function askQuestions(
  earlier: SetupAnswers,
  { print, ask }: Dialogue,
  { listModels, findFault }: QuestionHelpers,
): Promise<SetupAnswers> {
  const keepOr = async (question: string, present: string | null): Promise<string | null> => {
    const line = (await ask(`${question}${present === null ? '' : ` [${present}]`}: `)).trim()
    return line === '' ? present : line === '-' ? null : line
  }
  const keepSecretOr = async (question: string, present: string | null): Promise<string | null> => {
    const line = (await ask(`${question}${present === null ? '' : ' [unchanged]'}: `, { isSecret: true })).trim()
    return line === '' ? present : line === '-' ? null : line
  }
  let answers = earlier
  // A fault from before is not one of the next answer.
  let presentFault = await findFault(answers)
  const assertCanWork = async (next: SetupAnswers): Promise<void> => {
    if (isDeepStrictEqual(next, answers)) return
    const fault = await findFault(next)
    if (fault !== null && fault !== presentFault) throw new OperatorError(fault)
    presentFault = fault
  }
  /** @param apply what follows from a line for the answers; throws OperatorError where it is no answer */
  const settle = async (
    askLine: () => Promise<string | null>,
    apply: (line: string | null) => Partial<SetupAnswers>,
  ): Promise<void> => {
    for (;;) {
      const line = await askLine()
      try {
        const next = { ...answers, ...apply(line) }
        await assertCanWork(next)
        answers = next
        return
      } catch (error) {
        if (!(error instanceof OperatorError)) throw error
        print(`${error.message}\n`)
      }
    }
  }
  print('An empty line keeps what is in brackets, and - removes it.\n')

  print('\n1 of 6: the public address\n')
  await settle(
    () => keepOr('Address of the website, such as https://ai.example.com; none for this machine only', answers.siteUrl),
    (siteUrl) => ({ siteUrl }),
  )

  print('\n2 of 6: the upstream\n')
  let models: readonly string[] = []
  for (;;) {
    await settle(
      () => keepOr('Base URL of its API, such as https://api.example.com/v1; none for the demonstration', answers.upstreamUrl),
      (upstreamUrl) => ({ upstreamUrl, ...(upstreamUrl === null ? { upstreamKey: null } : {}) }),
    )
    if (answers.upstreamUrl === null) break
    await settle(
      () => keepSecretOr('Its key', answers.upstreamKey),
      (upstreamKey) => ({ upstreamKey }),
    )
    const modelsOrFailure = await listModels(answers)
    if (typeof modelsOrFailure !== 'string') {
      models = modelsOrFailure.slice(0, maxShownModels)
      break
    }
    print(`${modelsOrFailure}\n`)
    if ((await ask('Keep it all the same? (y/N) ')).trim().toLowerCase().startsWith('y')) break
  }

  print('\n3 of 6: mail\n')
  await settle(
    () => keepSecretOr('smtp://user:password@host:587 or smtps://…; none: emails become files', answers.smtpUrl),
    (smtpUrl) => ({ smtpUrl, ...(smtpUrl === null ? { mailFrom: null } : {}) }),
  )
  if (answers.smtpUrl !== null)
    await settle(
      () => keepOr('Sender, such as Example <no-reply@example.com>', answers.mailFrom),
      (mailFrom) => ({ mailFrom }),
    )

  print('\n4 of 6: the models of the tiers\n')
  if (models.length > 0) print(`${models.map((model, i) => `  ${i + 1}  ${model}`).join('\n')}\n`)
  for (const [tier, answer] of [
    ['light', 'lightModel'],
    ['flagship', 'flagshipModel'],
  ] as const)
    await settle(
      async () => (answers.upstreamUrl === null ? null : keepOr(`Model of the tier ${tier}, by number or name`, answers[answer])),
      (line) => ({ [answer]: line === null ? null : chooseModel(line, models) }),
    )

  print('\n5 of 6: currency and plans\n')
  await settle(
    () => keepOr('Currency', answers.currency),
    (currency) => ({ currency: (currency ?? answers.currency).toUpperCase() }),
  )
  await settle(
    () => keepOr('Plans with their price of a month', formatPlans(answers.plans)),
    (plans) => ({ plans: parsePlans(plans ?? '') }),
  )

  print('\n6 of 6: a sign-in provider\n')
  const currentProvider = answers.provider
  // The configuration has a provider as a whole, so the parts that are not given yet are made up for the check.
  let provider: SetupProvider = {
    issuer: '',
    name: currentProvider?.name ?? 'Name',
    clientId: currentProvider?.clientId ?? 'client',
  }
  await settle(
    () =>
      keepOr(
        'Issuer of an OpenID Connect provider, such as https://id.example.com; none: by email only',
        currentProvider?.issuer ?? null,
      ),
    (issuer) => (issuer === null ? { provider: null, clientSecret: null } : { provider: (provider = { ...provider, issuer }) }),
  )
  if (answers.provider === null) return answers
  for (const [question, part] of [
    ['Name on the button', 'name'],
    ['Client id', 'clientId'],
  ] as const)
    await settle(
      () => keepOr(question, currentProvider?.[part] ?? null),
      (line) => {
        if (line === null) throw new OperatorError('A sign-in provider needs a name and a client id.')
        return { provider: (provider = { ...provider, [part]: line }) }
      },
    )
  await settle(
    () => keepSecretOr('Client secret', answers.clientSecret),
    (clientSecret) => ({ clientSecret }),
  )
  return answers
}

/** @throws OperatorError for a number that is not in the list */
function chooseModel(line: string, models: readonly string[]): string {
  if (models.length === 0 || models.includes(line) || !/^\d+$/.test(line)) return line
  const model = models[Number(line) - 1]
  if (model === undefined)
    throw new OperatorError(`${line} is not in the list: write a number from 1 to ${models.length}, or a name.`)
  return model
}
