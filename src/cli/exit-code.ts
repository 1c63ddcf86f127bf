/** The exit codes of `svc`: one table for scripts, the man page and the tests. */
export const exitCodes = {
  ok: { code: 0, en: 'done', zh: '成功' },
  failed: { code: 1, en: 'failed', zh: '失败' },
  usage: { code: 2, en: 'the command line is wrong', zh: '命令行用法错误' },
  workbench: { code: 3, en: 'the workbench is not reachable', zh: '无法连接工作台' },
  signIn: { code: 4, en: 'sign-in required', zh: '需要登录' },
  notFound: { code: 5, en: 'not found', zh: '未找到' },
  quota: { code: 6, en: 'the included usage is used up', zh: '额度已用完' },
  tryAgain: { code: 7, en: 'rate limited, or the service failed: try again', zh: '受限流或服务出错：请重试' },
  timeout: { code: 8, en: 'no answer in time', zh: '等待超时' },
  interrupted: { code: 130, en: 'interrupted', zh: '已中断' },
} as const satisfies Record<string, { readonly code: number; readonly en: string; readonly zh: string }>

export type ExitName = keyof typeof exitCodes

/** The exit code of a command; undefined means 0. */
export type ExitCode = (typeof exitCodes)[ExitName]['code']
