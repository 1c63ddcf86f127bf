/** Finds a browser of the Chromium family on this machine. */
import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { WorkbenchError } from '../protocol/protocol.ts'

export const chromiumHint =
  'install Chromium: apt install chromium · dnf install chromium · brew install --cask chromium, or set SVC_BROWSER'

const programNames = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'microsoft-edge', 'brave-browser']

const defaultPaths: Readonly<Record<string, readonly string[]>> = {
  darwin: [
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
    '/Applications/Brave Browser.app/Contents/MacOS/Brave Browser',
  ],
  win32: [
    'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
  ],
}

interface ExecutableInput {
  /** SVC_BROWSER or the configuration file; no other browser is tried if it is set. */
  readonly configuredPath: string | null
  readonly env: Readonly<Record<string, string>>
  readonly platform: string
  /** The folder in which the browser library keeps its own browser, if it has one. */
  readonly bundledPath?: string | undefined
}

/** Returns the browser's path. Throws `engine_unavailable` with the command that installs one. */
export async function findBrowserExecutable(input: ExecutableInput): Promise<string> {
  const { configuredPath, env, platform, bundledPath } = input
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const onPath = (name: string): readonly string[] => (isAbsolute(name) ? [name] : folders.map((folder) => join(folder, name)))
  const candidates =
    configuredPath === null
      ? [...(bundledPath === undefined ? [] : [bundledPath]), ...programNames.flatMap(onPath), ...(defaultPaths[platform] ?? [])]
      : onPath(configuredPath)
  for (const candidate of candidates) {
    if (await isExecutable(candidate)) return candidate
  }
  const message = configuredPath === null ? 'there is no Chromium on this machine' : `there is no browser at ${configuredPath}`
  throw new WorkbenchError('engine_unavailable', message, { hint: chromiumHint })
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
