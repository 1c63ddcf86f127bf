/** The variables that `svc` reads, for the man page. */
import type { LocalizedText } from '../command-table/localized-text.ts'

export const environmentVariables: readonly { readonly name: string; readonly summary: LocalizedText }[] = [
  {
    name: 'SVC_SITE_URL',
    summary: { en: "the service's site; default http://127.0.0.1:8787", zh: '服务站点地址;默认 http://127.0.0.1:8787' },
  },
  { name: 'SVC_BASE_URL', summary: { en: "the API's address, where it is not the site's", zh: 'API 地址（与站点不同时）' } },
  {
    name: 'SVC_BRAND',
    summary: { en: "the service's short name; svc login learns it", zh: '服务的短名称;svc login 会自动获取' },
  },
  {
    name: 'SVC_API_KEY',
    summary: { en: 'an API key; takes precedence over every other credential', zh: 'API 密钥；优先于其他凭据' },
  },
  {
    name: 'SVC_TOKEN',
    summary: { en: 'a session token; takes precedence over the stored session', zh: '登录 token；优先于本机保存的登录状态' },
  },
  { name: 'SVC_MODEL', summary: { en: 'the model of svc chat; default auto', zh: 'svc chat 使用的模型；默认 auto' } },
  { name: 'SVC_LANG', summary: { en: "en or zh; default by the locale's variables", zh: 'en 或 zh;默认取决于系统语言环境' } },
  { name: 'SVC_SOCKET', summary: { en: "the workbench's socket", zh: '工作台的套接字路径' } },
  { name: 'SVC_NO_START', summary: { en: 'not empty: do not start the workbench', zh: '非空时不自动启动工作台' } },
  {
    name: 'SVC_BROWSER',
    summary: { en: 'the browser of svc browser: a name or a path', zh: 'svc browser 使用的浏览器：名称或路径' },
  },
  {
    name: 'SVC_BROWSER_SANDBOX',
    summary: {
      en: 'off: run the browser without its sandbox; then a page can reach everything that you can',
      zh: 'off：不使用浏览器沙箱；此时网页可能访问你能访问的内容',
    },
  },
  {
    name: 'SVC_WORKSPACE_ID',
    summary: { en: 'the workspace a command means; set in every pane', zh: '命令所指的工作区；在每个窗格中自动设置' },
  },
  {
    name: 'SVC_PANE_ID',
    summary: { en: 'the pane a command means; set in every pane', zh: '命令所指的窗格；在每个窗格中自动设置' },
  },
  { name: 'NO_COLOR', summary: { en: 'not empty: no colours and no styles', zh: '非空时不使用颜色和样式' } },
  {
    name: 'FORCE_COLOR',
    summary: { en: 'not empty: styles also where the output is not a terminal', zh: '非空时即使输出不是终端也使用样式' },
  },
]
