/** 展示运营者自有文本的页面所用的文字。 */
import type { legal as english } from '../en/legal.ts'

export const legal: typeof english = { terms: '服务条款', privacy: '隐私政策', contact: '联系我们' }
