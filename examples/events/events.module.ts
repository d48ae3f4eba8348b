import { Module } from '@nestjs/common';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { AccountsModule } from '../support/accounts.js';
import { BonusListener } from './bonus.listener.js';

@Module({ imports: [AccountsModule, EventEmitterModule.forRoot()], providers: [BonusListener] })
export class EventsModule {}
