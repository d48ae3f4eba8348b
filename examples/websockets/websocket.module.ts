import { Module } from '@nestjs/common';
import { AccountsModule } from '../support/accounts.js';
import { AccountsGateway } from './accounts.gateway.js';

@Module({ imports: [AccountsModule], providers: [AccountsGateway] })
export class WebsocketModule {}
