/** `svc-gateway init` */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { ConfigError } from '../../../config/config.ts'
import type { GatewayConfig } from '../../../config/config.ts'
import { evaluateConfig } from '../../../server/reload/evaluate-config.ts'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { describeSystemError, OperatorError } from '../../../system/operator-error.ts'
import { formatDifference } from '../../../system/terminal/format-difference.ts'
import { checkMail } from '../doctor/check-mail.ts'
import { checkSignInProviders } from '../doctor/check-sign-in.ts'
import { checkUpstreams, listMainModels } from '../doctor/check-upstreams.ts'
import { renderResult } from '../../output.ts'
import type { CommandResult, OutputOptions } from '../../output.ts'
import { askQuestions } from './ask-questions.ts'
import type { Dialogue } from './ask-questions.ts'
import { parsePlans, variables } from './setup-answers.ts'
import type { SetupAnswers } from './setup-answers.ts'
import {
  createSetupFolder,
  maskSecrets,
  readAnswers,
  readSetupFile,
  renderConfig,
  renderEnvironment,
  writeSetupFile,
} from './setup-files.ts'

/** Secrets are named by files: a command line is visible to every user of the machine. `-` removes an answer. */
export interface InitOptions extends OutputOptions {
  readonly folder?: string
  readonly siteUrl?: string
  readonly upstreamUrl?: string
  readonly upstreamKeyFile?: string
  readonly smtpUrlFile?: string
  readonly mailFrom?: string
  readonly notifyMail?: string
  readonly testMail?: string
  readonly lightModel?: string
  readonly flagshipModel?: string
  readonly currency?: string
  readonly plans?: string
  readonly providerName?: string
  readonly issuer?: string
  readonly clientId?: string
  readonly clientSecretFile?: string
}

/** Where the service of deploy/install.sh has its settings; its unit names the data folder. */
const serviceSettings = '/etc/svc-gateway'

/**
 * Asks, checks the answers and writes the two files. With any answer as an option it asks nothing, and what is not given stays as it is.
 *
 * @param openDialogue null where there is no terminal
 */
export async function init(
  options: InitOptions,
  openDialogue: (() => Promise<Dialogue & { close(): void }>) | null,
  serviceFolder = serviceSettings,
): Promise<CommandResult> {
  const environmentName = 'gateway.env'
  const folder = resolve(options.folder ?? (existsSync(join(serviceFolder, environmentName)) ? serviceFolder : '.'))
  const isService = folder === serviceFolder
  const [configFile, environmentFile] = [join(folder, 'gateway.config.mjs'), join(folder, environmentName)]
  const [earlierConfig, earlierEnvironment] = [readSetupFile(configFile), readSetupFile(environmentFile)]
  const earlierAnswers = readAnswers(earlierConfig, earlierEnvironment)
  const isAsking = !Object.keys(options).some((name) => !['folder', 'json', 'testMail'].includes(name))
  if (isAsking && openDialogue === null)
    throw new OperatorError('There is no terminal to ask on. Give the answers as options; svc-gateway init --help lists them.')
  const dialogue = isAsking && openDialogue !== null ? await openDialogue() : null
  try {
    const render = (answers: SetupAnswers): SetupTexts => ({
      config: renderConfig(answers, earlierConfig),
      environment: renderEnvironment(answers, earlierEnvironment, {
        GATEWAY_CONFIG: configFile,
        ...(isService ? {} : { DATA_DIR: join(folder, 'data') }),
      }),
    })
    const evaluate = async (answers: SetupAnswers): Promise<GatewayConfig> => evaluateTexts(render(answers))
    const answers =
      dialogue === null ? applyOptions(earlierAnswers, options) : await askUntilTheyWork(earlierAnswers, dialogue, evaluate)
    const texts = render(answers)
    const config = await evaluateTexts(texts)
    const testMail =
      options.testMail ??
      (dialogue === null || answers.smtpUrl === null
        ? undefined
        : (await dialogue.ask('\nAddress for a test email; none to send none: ')).trim() || undefined)
    const findings = [
      ...(await checkUpstreams(config, true)),
      ...(await checkMail(config, testMail)),
      ...(await checkSignInProviders(config)),
    ]
    const difference = [
      formatDifference(configFile, earlierConfig ?? undefined, texts.config),
      formatDifference(
        environmentFile,
        earlierEnvironment === null ? undefined : maskSecrets(earlierEnvironment, texts.environment, 'earlier'),
        maskSecrets(texts.environment, earlierEnvironment, 'new'),
      ),
    ].join('')
    if (dialogue !== null && difference !== '') {
      dialogue.print(`\n${difference}\n${formatFindings(findings)}\n`)
      if (!(await dialogue.ask('Write this? (y/N) ')).trim().toLowerCase().startsWith('y'))
        return renderResult(options, { ok: false, written: [] }, () => 'Nothing was written.', false)
    }
    if (difference !== '') {
      // The service reads the configuration as its own user; the other file is root's.
      createSetupFolder(folder, isService ? 0o755 : 0o700)
      writeSetupFile(environmentFile, texts.environment, 0o600)
      writeSetupFile(configFile, texts.config, 0o644)
    }
    const ok = findings.every((finding) => finding.ok)
    const next = isService
      ? 'systemctl restart svc-gateway svc-gateway-backup.timer && svc-gateway doctor'
      : `node --env-file=${environmentFile} "$(command -v svc-gateway)" ${earlierConfig === null ? 'start' : 'check'}`
    const writtenFiles = difference === '' ? [] : [configFile, environmentFile]
    return renderResult(
      options,
      { ok, written: writtenFiles, findings, difference, next },
      () =>
        [
          ...(dialogue === null ? [difference.trimEnd(), formatFindings(findings)] : []),
          writtenFiles.length === 0 ? 'Nothing has changed.' : `Written: ${writtenFiles.join(' and ')}.`,
          ...(ok ? [] : ['Some checks failed (!!): correct the answers with svc-gateway init.']),
          `Next: ${next}`,
        ]
          .filter((line) => line !== '')
          .join('\n'),
      ok,
    )
  } finally {
    dialogue?.close()
  }
}

interface SetupTexts {
  readonly config: string
  readonly environment: string
}

/** Answers that only together cannot work become the present ones of another round, so that nothing that was typed is lost. */
async function askUntilTheyWork(
  earlier: SetupAnswers,
  dialogue: Dialogue,
  evaluate: (answers: SetupAnswers) => Promise<GatewayConfig>,
): Promise<SetupAnswers> {
  const findFault = (answers: SetupAnswers): Promise<string | null> => evaluate(answers).then(() => null, describeRefusal)
  const listModels = (answers: SetupAnswers): Promise<readonly string[] | string> =>
    evaluate({ ...answers, lightModel: null, flagshipModel: null }).then(listMainModels, describeRefusal)
  for (let answers = earlier; ;) {
    answers = await askQuestions(answers, dialogue, { listModels, findFault })
    const fault = await findFault(answers)
    if (fault === null) return answers
    dialogue.print(`\n${fault}\n`)
  }
}

function describeRefusal(error: unknown): string {
  if (!(error instanceof OperatorError)) throw error
  return error.message
}

function applyOptions(earlier: SetupAnswers, options: InitOptions): SetupAnswers {
  const choose = (given: string | undefined, present: string | null): string | null =>
    given === undefined ? present : given === '-' ? null : given
  const issuer = choose(options.issuer, earlier.provider?.issuer ?? null)
  const name = choose(options.providerName, earlier.provider?.name ?? null)
  const clientId = choose(options.clientId, earlier.provider?.clientId ?? null)
  if (issuer !== null && (name === null || clientId === null))
    throw new OperatorError('A sign-in provider needs --issuer, --provider-name and --client-id.')
  return {
    siteUrl: choose(options.siteUrl, earlier.siteUrl),
    upstreamUrl: choose(options.upstreamUrl, earlier.upstreamUrl),
    upstreamKey: chooseSecret(options.upstreamKeyFile, earlier.upstreamKey),
    smtpUrl: chooseSecret(options.smtpUrlFile, earlier.smtpUrl),
    mailFrom: choose(options.mailFrom, earlier.mailFrom),
    notifyMail: choose(options.notifyMail, earlier.notifyMail),
    lightModel: choose(options.lightModel, earlier.lightModel),
    flagshipModel: choose(options.flagshipModel, earlier.flagshipModel),
    currency: (options.currency ?? earlier.currency).toUpperCase(),
    plans: options.plans === undefined ? earlier.plans : parsePlans(options.plans === '-' ? '' : options.plans),
    provider: issuer === null || name === null || clientId === null ? null : { name, issuer, clientId },
    clientSecret: issuer === null ? null : chooseSecret(options.clientSecretFile, earlier.clientSecret),
  }
}

function chooseSecret(file: string | undefined, present: string | null): string | null {
  if (file === undefined) return present
  if (file === '-') return null
  try {
    const secret = readFileSync(file, 'utf8').trim()
    return secret === '' ? null : secret
  } catch (error) {
    throw new OperatorError(`${file} cannot be read: ${describeSystemError(error)}.`, { cause: error })
  }
}

/** Checks the files before they are written. @throws OperatorError */
async function evaluateTexts({ config, environment }: SetupTexts): Promise<GatewayConfig> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-gateway-init-'))
  try {
    const file = join(folder, 'gateway.config.mjs')
    writeFileSync(file, config)
    // A variable of this shell must not stand in for an answer that was removed.
    const noAnswers = Object.fromEntries(Object.values(variables).map((name) => [name, undefined]))
    const { values } = await evaluateConfig({ ...noAnswers, ...parseEnv(environment), GATEWAY_CONFIG: file })
    return { ...values, plugins: [] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new OperatorError(`With these answers the configuration cannot work:\n${error.message}`, { cause: error })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function formatFindings(findings: readonly HealthCheck[]): string {
  return findings.map(({ ok, what, detail }) => `${ok ? 'ok' : '!!'}  ${what}: ${detail}`).join('\n')
}
