import sesamecare from '@sesamecare-oss/redlock';
import { openWith, VARIANTS } from './redlock.mjs';

const { Redlock, ExecutionError } = sesamecare;

export default {
  title: '@sesamecare-oss/redlock',
  module: '@sesamecare-oss/redlock',
  waits: true,
  variants: VARIANTS,

  open: openWith({ Redlock, ExecutionError }),
};
