import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Module } from '@nestjs/common';
import { GraphQLModule } from '@nestjs/graphql';
import { AccountsModule } from '../support/accounts.js';
import { AccountsResolver } from './accounts.resolver.js';

@Module({
  imports: [
    AccountsModule,
    GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      includeStacktraceInErrorResponses: false,
    }),
  ],
  providers: [AccountsResolver],
})
export class AccountsGraphqlModule {}
