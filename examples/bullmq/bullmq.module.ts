import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { AccountsModule, REDIS_URL } from '../support/accounts.js';
import { PayoutsProcessor } from './payouts.processor.js';

@Module({
  imports: [
    AccountsModule,
    BullModule.forRoot({ connection: { url: REDIS_URL, maxRetriesPerRequest: null } }),
    BullModule.registerQueue({ name: 'payouts' }),
  ],
  providers: [PayoutsProcessor],
})
export class PayoutsModule {}
