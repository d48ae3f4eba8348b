import { Module } from '@nestjs/common';
import { AccountsModule } from '../support/accounts.js';
import { AccountsController } from './accounts.controller.js';

@Module({ imports: [AccountsModule], controllers: [AccountsController] })
export class MicroserviceModule {}
