mod ignore;
