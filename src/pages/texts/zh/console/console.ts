/** 控制台各页面的文字。 */
import type { console as english } from '../../en/console/console.ts'

export const console: typeof english = {
  sectionsTitle: '控制台栏目',
  sections: { session: '会话' },
  toSite: '返回网站',
}
